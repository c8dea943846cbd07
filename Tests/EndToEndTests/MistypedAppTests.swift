import Foundation
import TestSupport
import Testing

/// An `app_apple_id` that is not the app's: every answer names another app.
@Suite(.timeLimit(.minutes(30))) struct `A mistyped app_apple_id` {
    private let place: Workplace

    init() throws {
        let simulator = try RunningSimulator(["--customers", "40", "--seed", "3", "--drift", "0.1"])
        place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        let settings = try place.folder.text("trueup.yaml")
        let right = "app_apple_id: \(simulator.ready.appAppleID)"
        try #require(settings.contains(right))
        try place.folder.write(
            settings.replacing(right, with: "app_apple_id: 999000999"), to: "trueup.yaml")
    }

    private func words(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test func `is found by doctor, which names what the answer states`() throws {
        let doctor = try place.run("doctor")
        #expect(doctor.status == 78, "\(doctor.output)")
        #expect(
            words(doctor.output).contains("the answer states the app_apple_id 1"),
            "\(doctor.output)")
        #expect(words(doctor.output).contains("the settings say 999000999"), "\(doctor.output)")
    }

    @Test(arguments: ["[walk]", "[recover, walk]"])
    func `is suspected by a run, which writes nothing`(steps: String) throws {
        try place.writeJob("nightly", steps: steps)
        let before = try place.rows()
        let run = try place.run("run", "nightly")
        #expect(run.status == 76, "\(run.output)")
        let said = words(run.output)
        #expect(said.contains("that names its app"), "\(run.output)")
        #expect(said.contains("the settings say 999000999"), "\(run.output)")
        #expect(said.contains("correct app_apple_id"), "\(run.output)")
        #expect(
            !said.contains("a proxy or firewall between this machine and Apple"), "\(run.output)")
        #expect(try place.rows() == before)
    }
}
