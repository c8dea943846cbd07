import Foundation
import GRDB
import TestSupport
import Testing

/// What `doctor` and `init --from` advise where the first guess of a person would be wrong.
@Suite(.timeLimit(.minutes(30))) struct `Advice before the first run` {
    private let place: Workplace

    init() throws {
        place = try Workplace(
            on: RunningSimulator(["--customers", "60", "--seed", "9", "--drift", "0.1"]))
        try #require(place.run("init").status == 0)
    }

    private func words(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test func `does not speak of names where a certificate is not trusted`() throws {
        let ready = place.simulator.ready
        let settings = try place.folder.text("trueup.yaml")
        let authority = try #require(
            settings.split(separator: "\n").first { $0.contains("ca_file:") })
        try place.folder.write(
            settings.replacing(authority, with: "    ca_file: \(ready.rootFile)"),
            to: "trueup.yaml")
        let doctor = try place.run("doctor")
        #expect(doctor.status == 69, "\(doctor.output)")
        #expect(words(doctor.output).contains("is not trusted"), "\(doctor.output)")
        #expect(words(doctor.output).contains("ca-certificates"), "\(doctor.output)")
        #expect(!words(doctor.output).contains("name resolution"), "\(doctor.output)")
    }

    @Test func `takes a run that is going on for no failure`() throws {
        try #require(
            place.run("import", try #require(place.simulator.ready.tableFile)).status == 0)
        let settings = try place.folder.text("trueup.yaml")
        try place.folder.write(
            settings.replacing(
                "requests_per_second: 5000", with: "requests_per_second: 2"),
            to: "trueup.yaml")
        let running = try place.start("check", "nightly")
        var isGoingOn = false
        for _ in 0..<200 where !isGoingOn {
            isGoingOn = try place.run("status").output.contains("walk:")
            usleep(50_000)
        }
        try #require(isGoingOn)
        let doctor = try place.run("doctor")
        #expect(words(doctor.output).contains("a run is active"), "\(doctor.output)")
        #expect(doctor.status == 0, "\(doctor.output)")
        running.send(signal: SIGTERM)
        _ = running.wait()
    }

    @Test func `finds apple_otid, and lists columns that may hold the id`() throws {
        let known = try place.folder.write("", to: "known.sqlite")
        let other = try place.folder.write("", to: "other.sqlite")
        for (file, column) in [(known, "apple_otid"), (other, "apple_ref")] {
            try DatabaseQueue(path: file).write { db in
                try db.execute(
                    sql:
                        "CREATE TABLE subs (id INTEGER PRIMARY KEY, \(column) TEXT, status INTEGER)"
                )
            }
        }
        let found = try place.run("init", "--from", "sqlite:\(known)")
        #expect(found.status == 0, "\(found.errors)")
        #expect(found.output.contains("original_transaction_id: apple_otid"), "\(found.output)")
        let listed = try place.run("init", "--from", "sqlite:\(other)")
        #expect(listed.status == 65, "\(listed.errors)")
        #expect(listed.errors.contains("subs.apple_ref"), "\(listed.errors)")
    }
}
