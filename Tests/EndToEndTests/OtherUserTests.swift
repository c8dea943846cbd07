import Foundation
import GRDB
import TestSupport
import Testing

/// What happens to the files of a database that several users of the machine touch.
@Suite(.enabled(if: OtherUser.isThere), .timeLimit(.minutes(5)))
struct `Another user than the job's` {
    private let place: Workplace
    private let files = FileManager.default

    init() throws {
        place = try Workplace(on: RunningSimulator(["--customers", "3", "--seed", "5"]))
        try #require(place.run("init", "--quiet").status == 0)
        for name in try files.subpathsOfDirectory(atPath: place.folder.url.path) + [""] {
            try give(name, to: OtherUser.number)
        }
    }

    private func path(_ name: String) -> String {
        place.folder.url.appendingPathComponent(name).path
    }

    private func give(_ name: String, to user: Int, mode: Int? = nil) throws {
        try files.setAttributes([.ownerAccountID: user], ofItemAtPath: path(name))
        guard let mode else { return }
        try files.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
    }

    private func names() throws -> [String] {
        try files.contentsOfDirectory(atPath: place.folder.url.path).sorted()
    }

    private func runAsOther(_ arguments: String...) throws -> BuiltExecutable.Result {
        try OtherUser.run(arguments, in: place.folder.url)
    }

    /// The lines of `doctor` about one check.
    private func doctor(_ check: String) throws -> String {
        try runAsOther("doctor").output.split(separator: "\n")
            .filter { $0.contains("  \(check) ") }.joined(separator: "\n")
    }

    @Test func `leaves no file beside a database that it may only read`() throws {
        try give("trueup.sqlite", to: 0, mode: 0o444)
        let before = try names()
        for command in ["doctor", "status", "export"] {
            let result = try runAsOther(command)
            #expect(try names() == before, "\(command)")
            #expect(result.status != 0, "\(command): \(result.output)")
        }
        let line = try doctor("database")
        #expect(line.contains("FAILED"), "\(line)")
        #expect(line.contains("never move or delete it"), "\(line)")
        #expect(line.contains("chown USER"), "\(line)")
        try give("trueup.sqlite", to: OtherUser.number, mode: 0o644)
        #expect(try runAsOther("status").status == 0)
        #expect(try doctor("database").contains("ok "))
    }

    @Test func `is not told that a report was changed which it may not read`() throws {
        try #require(place.run("run", "nightly").status == 5)
        // The lock is for the job's user alone, and is no part of the reports.
        for name in try [""] + files.subpathsOfDirectory(atPath: path("reports"))
        where name != ".lock" {
            try give("reports/" + name, to: OtherUser.number)
        }
        #expect(try runAsOther("verify", "reports", "--config", "trueup.yaml").status == 0)
        try give("reports/latest/corrections.jsonl", to: 0, mode: 0o600)
        let result = try runAsOther("verify", "reports")
        #expect(result.status == 65, "\(result.errors)")
        #expect(
            result.errors.contains("corrections.jsonl could not be read: Permission denied"),
            "\(result.errors)")
        #expect(!result.output.contains("TAMPERED"), "\(result.output)")
    }

    @Test func `reads in plain words why a leftover of root's run stays`() throws {
        let key = try place.folder.write(
            String(contentsOfFile: place.simulator.ready.keyFile, encoding: .utf8), to: "key.p8")
        try give("key.p8", to: OtherUser.number, mode: 0o600)
        try place.writeSettings(apps: [
            place.simulator.appYAML().replacingOccurrences(
                of: place.simulator.ready.keyFile, with: key)
        ])
        let day = "reports/" + Date().formatted(.iso8601.year().month().day())
        let leftover = day + "/20261120T031704Z-7f3c9a.partial"
        try files.createDirectory(atPath: path(leftover), withIntermediateDirectories: true)
        try place.folder.write("half", to: leftover + "/summary.txt")
        for name in ["reports", day] { try give(name, to: OtherUser.number) }
        let run = try runAsOther("run", "nightly")
        #expect(run.status == 73, "\(run.errors)")
        #expect(run.errors.contains("cannot remove the leftover"), "\(run.errors)")
        #expect(run.errors.contains("summary.txt: Permission denied; let"), "\(run.errors)")
        #expect(!run.errors.contains("UserInfo"), "\(run.errors)")
    }

    @Test(arguments: [0o444, 0o000])
    func `is not told to move away what holds committed rows`(mode: Int) throws {
        for ending in ["-wal", "-shm"] {
            // Open, so that the log keeps what was committed.
            let service = try DatabaseQueue(path: path("trueup.sqlite"))
            try service.writeWithoutTransaction {
                try $0.execute(sql: "CREATE TABLE IF NOT EXISTS theirs (id INTEGER)")
            }
            for name in ["trueup.sqlite", "trueup.sqlite-wal", "trueup.sqlite-shm"] {
                try give(name, to: OtherUser.number, mode: 0o600)
            }
            try give("trueup.sqlite" + ending, to: 0, mode: mode)
            let found = try runAsOther("doctor").output
            #expect(!found.contains("move it away"), "\(found)")
            #expect(!found.contains("the disk is full"), "\(found)")
            #expect(found.contains("trueup.sqlite\(ending) cannot be written"), "\(found)")
            #expect(
                found.contains(
                    "never move or delete it: it holds committed rows; give the user of the job the "
                        + "right to write it (chown USER "), "\(found)")
            try give("trueup.sqlite" + ending, to: OtherUser.number, mode: 0o600)
            try service.close()
        }
    }
}

/// A user who is not root, under whom a test of root's can run the program.
enum OtherUser {
    static let number = 65_534

    private static let tool = "/usr/bin/setpriv"

    /// Whether there is a way to become that user, who can reach the program.
    static var isThere: Bool {
        guard getuid() == 0, FileManager.default.isExecutableFile(atPath: tool) else {
            return false
        }
        return (try? run(["--version"], in: nil).status) == 0
    }

    static func run(_ arguments: [String], in folder: URL?) throws -> BuiltExecutable.Result {
        let user = String(number)
        return try BuiltExecutable("setpriv", in: URL(fileURLWithPath: "/usr/bin")).run(
            [
                "--reuid", user, "--regid", user, "--clear-groups",
                BuiltExecutable("trueup").url.path,
            ]
                + arguments, in: folder)
    }
}
