import Foundation
import Subscriptions
import TestSupport
import Testing

@Suite struct `trueup doctor` {
    private struct Report: Decodable {
        struct Check: Decodable {
            let check: String
            let environment: String?
            let outcome: String
            let detail: String
            let fix: String?
        }
        let checks: [Check]
        let name: String
    }

    private let place: Workplace

    init() throws {
        place = try Workplace(on: RunningSimulator(["--customers", "3", "--seed", "5"]))
        try #require(try place.run("init", "--quiet").status == 0)
    }

    private func examine() throws -> (status: Int32, checks: [String: Report.Check]) {
        let result = try place.run("doctor", "--json")
        let report = try JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
        let named = report.checks.map { check in
            (check.check + (check.environment == "Sandbox" ? " sandbox" : ""), check)
        }
        return (result.status, Dictionary(named, uniquingKeysWith: { first, _ in first }))
    }

    private func database() throws -> Data {
        try Data(contentsOf: place.folder.url.appendingPathComponent("trueup.sqlite"))
    }

    @Test func `finds nothing to mend, and changes nothing`() throws {
        let before = try database()
        let files = try FileManager.default.contentsOfDirectory(atPath: place.folder.url.path)
        let found = try examine()
        #expect(found.status == 0, "\(found.checks)")
        #expect(found.checks["apple"]?.outcome == "ok")
        #expect(found.checks["clock"]?.outcome == "ok")
        // The simulator's root is not Apple's.
        #expect(found.checks["roots"]?.outcome == "warning")
        #expect(try database() == before)
        let after = try FileManager.default.contentsOfDirectory(atPath: place.folder.url.path)
        #expect(files.sorted() == after.sorted())
    }

    @Test func `sees the intermediate in the answer about a stored id`() async throws {
        let control = try await place.simulator.control("/_simulator/customers")
        let text = String(decoding: control, as: UTF8.self)
        let id = text.firstMatch(of: /"(\d{12,})"/).map { String($0.1) }
        guard let id else { return }
        try place.folder.write("original_transaction_id\n\(id)\n", to: "rows.csv")
        try #require(try place.run("import", "rows.csv").status == 0)
        let found = try examine()
        #expect(found.checks["apple"]?.detail.contains("its signed answer verifies") == true)
        #expect(found.checks["certificates"]?.detail.contains("not seen now") == false)
    }

    @Test func `tells a wrong key from an app without a release`() async throws {
        let simulator = place.simulator
        try place.writeSettings(apps: [
            simulator.appYAML(), simulator.appYAML(environment: "sandbox"),
        ])
        try await simulator.control(
            "/_simulator/app", method: "POST", body: #"{"released": false}"#)
        let unreleased = try examine()
        #expect(unreleased.status == 77)
        #expect(
            unreleased.checks["apple"]?.detail.contains("no production release yet") == true,
            "\(unreleased.checks)")
        #expect(unreleased.checks["apple sandbox"]?.outcome == "ok")
        try await simulator.control(
            "/_simulator/app", method: "POST", body: #"{"released": true}"#)
        let wrong = simulator.ready.issuerID.replacingOccurrences(of: "5", with: "6")
        try place.writeSettings(
            apps: ["production", "sandbox"].map {
                simulator.appYAML(environment: $0)
                    .replacingOccurrences(of: simulator.ready.issuerID, with: wrong)
            })
        let refused = try examine()
        #expect(refused.status == 77)
        #expect(refused.checks["apple"]?.detail.contains("it is the key") == true)
        let lines = try place.run("doctor").output
        #expect(!lines.contains(".. "), "\(lines)")
    }

    @Test func `ends with the most severe failure and continues after each`() throws {
        let simulator = place.simulator
        try place.writeJob("broken", "max_duratoin: 4h")
        try FileManager.default.removeItem(
            at: place.folder.url.appendingPathComponent("trueup.sqlite"))
        let closed = simulator.appYAML().replacingOccurrences(
            of: simulator.ready.endpoint, with: "https://127.0.0.1:1")
        try place.writeSettings(apps: [closed])
        let found = try examine()
        #expect(found.status == 78)
        #expect(found.checks["jobs"]?.fix?.contains("max_duration") == true)
        #expect(found.checks["database"]?.detail.contains("trueup init") == true)
        #expect(found.checks["apple"]?.outcome == "failed")
        #expect(found.checks["clock"]?.outcome == "skipped")
    }

    @Test func `accepts the key as it is mounted, and names the way out where others may read it`()
        throws
    {
        let files = FileManager.default
        let mount = place.folder.url.appendingPathComponent("mount/..data")
        try files.createDirectory(at: mount, withIntermediateDirectories: true)
        let key = mount.appendingPathComponent("key.p8")
        try files.copyItem(atPath: place.simulator.ready.keyFile, toPath: key.path)
        try files.createSymbolicLink(
            atPath: place.folder.url.path + "/mount/key.p8", withDestinationPath: "..data/key.p8")
        func settings(_ name: String) throws {
            try place.writeSettings(apps: [
                place.simulator.appYAML().replacingOccurrences(
                    of: place.simulator.ready.keyFile, with: name)
            ])
        }
        try settings("mount/key.p8")
        try files.setAttributes([.posixPermissions: 0o440], ofItemAtPath: key.path)
        let mounted = try examine()
        #expect(mounted.checks["key"]?.outcome == "ok", "\(mounted.checks)")
        #expect(mounted.checks["apple"]?.outcome == "ok", "\(mounted.checks)")

        try settings("$CREDENTIALS_DIRECTORY/key.p8")
        let credential = try place.run(
            "doctor", environment: ["CREDENTIALS_DIRECTORY": mount.path])
        #expect(credential.status == 0, "\(credential.output)")

        // The mode that Kubernetes gives where nobody asks for another.
        try settings("mount/key.p8")
        try files.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key.path)
        let open = try examine()
        #expect(open.status == 77)
        #expect(open.checks["key"]?.fix?.contains("key_env") == true, "\(open.checks)")
    }

    @Test func `has nothing to look at without settings`() throws {
        let result = try place.run("doctor", "--config", "nowhere.yaml")
        #expect(result.status == 78)
        #expect(result.output.contains("trueup init"))
    }
}
