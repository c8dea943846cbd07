import Foundation
import TestSupport
import Testing

/// `trueup compare app-store-connect --fetch` against the simulator's HTTPS interface.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `Fetching sales reports` {
    private static let reports = try? TemporaryFolder()
    private static let simulator = try? RunningSimulator([
        "--customers", "400", "--seed", "11", "--drift", "0", "--now", "2026-11-26T17:00:00Z",
        "--sales-reports", reports?.url.path ?? "",
    ])

    private struct Planted: Decodable, Hashable {
        var kind: String
        var productID: String
        var day: String
        var field: String

        private enum CodingKeys: String, CodingKey {
            case kind, day, field
            case productID = "product_id"
        }
    }

    private func place(
        _ simulator: RunningSimulator, replacing: (old: String, new: String)? = nil,
        runs: Bool = false
    ) throws -> Workplace {
        let place = try Workplace(on: simulator)
        let ready = simulator.ready
        let products = try Self.reports.map {
            try String(
                contentsOf: $0.url.appendingPathComponent("products.yaml"), encoding: .utf8)
        }
        var settings =
            (products ?? "") + """
                  vendor_number: \(ready.vendorNumber)
                  issuer_id: \(ready.issuerID)
                  key_id: \(ready.connectKeyID)
                  key_file: \(ready.connectKeyFile)
                  endpoint: \(ready.endpoint)
                  ca_file: \(ready.caFile)

                """
        if let replacing { settings = settings.replacing(replacing.old, with: replacing.new) }
        try place.folder.write(
            settings + place.folder.text("trueup.yaml"), to: "trueup.yaml")
        try place.writeJob(
            "nightly", "settle: 0s\nhistory: always", steps: "[walk]",
            guards: "max_changes: 100000, max_change_share: 1, max_same_direction_share: 1")
        try #require(place.run("init").status == 0)
        guard runs else { return place }
        try #require(place.run("import", #require(ready.tableFile)).status == 0)
        let run = try place.run("run", "nightly", "--now", "2026-11-26T17:00:00Z")
        try #require([0, 2].contains(run.status), "\(run.output)\(run.errors)")
        return place
    }

    private func fetch(
        _ place: Workplace, at now: String = "2026-11-26T17:00:00Z", _ more: String...
    ) throws -> BuiltExecutable.Result {
        try place.run(["compare", "app-store-connect", "--fetch", "--now", now] + more)
    }

    private func fetched(_ place: Workplace) -> [String] {
        let folder = place.folder.url.appendingPathComponent("reports/sales-reports")
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        return (names ?? []).sorted()
    }

    private func setFaults(_ faults: String) async throws {
        try await #require(Self.simulator).control(
            "/_simulator/faults", method: "POST", body: #"{"faults": [\#(faults)]}"#)
    }

    @Test func `finds every planted difference, and gets no report twice`() async throws {
        let simulator = try #require(Self.simulator)
        let place = try place(simulator, runs: true)
        let first = try fetch(place)
        #expect([2, 3].contains(first.status), "\(first.errors)")
        #expect(first.output.contains("3 reports were fetched from App Store Connect, into "))
        let planted = try JSONDecoder().decode(
            [Planted].self,
            from: Data(
                contentsOf: #require(Self.reports).url.appendingPathComponent("planted.json")))
        let found = try place.folder.text("reports/compare/latest/differences.jsonl")
            .split(separator: "\n")
            .map { try JSONDecoder().decode(Planted.self, from: Data($0.utf8)) }
        #expect(planted.count == 7)
        #expect(Set(found) == Set(planted))
        #expect(found.count == planted.count)
        #expect(
            fetched(place) == [
                "Subscriber_80012345_20261125.txt.gz", "Subscription_80012345_20261125.txt.gz",
                "Subscription_Event_80012345_20261125.txt.gz",
            ])
        // Nothing is asked: every answer would be 500 now.
        try await setFaults(#"{"fault": "status", "status": 500, "endpoint": "sales_reports"}"#)
        let second = try fetch(place)
        try await setFaults("")
        #expect(second.status == first.status, "\(second.errors)")
        #expect(second.output.contains("0 reports were fetched from App Store Connect, and 3 had"))
        // The folder is part of the report folder, and no foreign entry of it.
        let verified = try place.run(
            "verify", "--trusted-root", simulator.ready.rootFile, "reports")
        #expect(!verified.output.contains("sales-reports"), "\(verified.output)")
        #expect(try place.run("verify", "reports/compare").status == 0)
        let manifest = try place.folder.text("reports/compare/latest/manifest.json")
        #expect(manifest.contains("\"Subscriber_80012345_20261125.txt.gz"))
    }

    @Test func `says how to get a report again that cannot be used`() throws {
        let place = try place(#require(Self.simulator))
        let name = "Subscriber_80012345_20261125.txt.gz"
        let folder = place.folder.url.appendingPathComponent("reports/sales-reports")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try place.folder.write("Column\tOther\n1\t2\n", to: "reports/sales-reports/" + name)
        let refused = try fetch(place)
        #expect(refused.status == 65, "\(refused.output)\(refused.errors)")
        #expect(refused.errors.contains(name))
        #expect(refused.errors.contains("If you delete it, the next comparison"))
        try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        let again = try fetch(place)
        #expect([2, 3].contains(again.status), "\(again.errors)")
    }

    @Test func `says to leave a copy of a fetched report out`() throws {
        let place = try place(#require(Self.simulator))
        #expect(try [2, 3].contains(fetch(place).status))
        let name = "reports/sales-reports/Subscriber_80012345_20261125.txt.gz"
        let copy = place.folder.url.appendingPathComponent("copy.txt.gz")
        try FileManager.default.copyItem(
            at: place.folder.url.appendingPathComponent(name), to: copy)
        let refused = try fetch(place, at: "2026-11-26T17:00:00Z", copy.path)
        #expect(refused.status == 65, "\(refused.output)\(refused.errors)")
        #expect(refused.errors.contains("copy.txt.gz: --fetch gets the same report"))
        #expect(!refused.errors.contains("If you delete it"), "\(refused.errors)")
    }

    @Test func `says which reports there are not, and compares what there is`() async throws {
        let place = try place(#require(Self.simulator))
        // Before Apple has any: an empty comparison, and no error.
        try await setFaults(
            """
            {"fault": "status", "status": 404, "endpoint": "sales_reports", "count": 1,
            "content_type": "application/json",
            "body": "{\\"errors\\":[{\\"detail\\":\\"There were no sales for the date specified.\\"}]}"}
            """)
        let some = try fetch(place)
        try await setFaults("")
        #expect([2, 3].contains(some.status), "\(some.errors)")
        #expect(
            some.output.contains(
                "has no SUBSCRIPTION report of 2026-11-25: There were no sales for the date specified."
            ), "\(some.output)")
        #expect(fetched(place).count == 2)
        let early = try RunningSimulator(["--customers", "5", "--now", "2026-11-26T15:00:00Z"])
        let earlyPlace = try self.place(early)
        let none = try fetch(earlyPlace, at: "2026-11-26T15:00:00Z")
        #expect(none.status == 5, "\(none.errors)")
        #expect(none.output.contains("Report is not available yet"))
        #expect(fetched(earlyPlace).isEmpty)
    }

    @Test func `waits for a limit, and gives up with what it has`() async throws {
        let place = try place(#require(Self.simulator))
        try await setFaults(
            #"{"fault": "rate_limited", "retry_after": "delay_seconds", "wait_seconds": 3, "endpoint": "sales_reports", "count": 1}"#
        )
        let waited = try fetch(place)
        try await setFaults("")
        #expect([2, 3].contains(waited.status), "\(waited.errors)")
        #expect(waited.errors.contains("Apple answered 429"), "\(waited.errors)")
        #expect(fetched(place).count == 3)
        let other = try self.place(#require(Self.simulator))
        try await Self.simulator?.control(
            "/_simulator/limits", method: "POST", body: #"{"sales_reports": 1}"#)
        let limited = try fetch(other)
        try await Self.simulator?.control(
            "/_simulator/limits", method: "POST", body: #"{"sales_reports": 3600}"#)
        #expect(limited.status == 69, "\(limited.errors)")
        #expect(limited.errors.contains("continues with the reports that are missing"))
        #expect(fetched(other).count == 1)
        let rest = try fetch(other)
        #expect([2, 3].contains(rest.status), "\(rest.errors)")
        #expect(rest.output.contains("2 reports were fetched"))
        #expect(rest.output.contains("and 1 had been fetched before"))
    }

    @Test func `names a refused key, and shows neither key nor token`() async throws {
        let simulator = try #require(Self.simulator)
        let ready = simulator.ready
        // The key of the app is not a team key.
        let wrong = try place(
            simulator, replacing: (ready.connectKeyFile, ready.keyFile))
        let refused = try fetch(wrong)
        #expect(refused.status == 77)
        #expect(refused.errors.contains("refuses the key \(ready.connectKeyID)"))
        #expect(refused.errors.contains("Nothing was compared."))
        #expect(!refused.errors.contains("eyJ"))
        #expect(fetched(wrong).isEmpty)
        let place = try place(simulator)
        try await setFaults(
            """
            {"fault": "status", "status": 403, "endpoint": "sales_reports",
            "content_type": "application/json",
            "body": "{\\"errors\\":[{\\"detail\\":\\"The API key in use does not allow this request\\"}]}"}
            """)
        let role = try fetch(place)
        try await setFaults("")
        #expect(role.status == 77)
        #expect(role.errors.contains("Give the key the role Finance, Sales or Admin"))
        let open = place.folder.url.appendingPathComponent("open.p8").path
        try FileManager.default.copyItem(atPath: ready.connectKeyFile, toPath: open)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: open)
        let readable = try self.place(simulator, replacing: (ready.connectKeyFile, open))
        let exposed = try fetch(readable)
        #expect(exposed.status == 77)
        #expect(exposed.errors.contains("chmod 600"), "\(exposed.errors)")
        let doctor = try readable.run("doctor")
        #expect(doctor.output.contains("sales_key"), "\(doctor.output)")
        #expect(doctor.output.contains("chmod 600"))
        #expect(try place.run("doctor").output.contains("sales_key     6PD4K7QW2B"))
    }

    @Test func `does not keep an answer that is cut or of another service`() async throws {
        let place = try place(#require(Self.simulator))
        try await setFaults(#"{"fault": "cut", "after_bytes": 900, "endpoint": "sales_reports"}"#)
        let cut = try fetch(place)
        #expect(cut.status == 76)
        #expect(cut.errors.contains("It was not kept"), "\(cut.errors)")
        try await setFaults(
            #"{"fault": "status", "status": 200, "content_type": "text/html", "body": "<html>", "endpoint": "sales_reports"}"#
        )
        let portal = try fetch(place)
        try await setFaults("")
        #expect(portal.status == 76)
        #expect(fetched(place).isEmpty)
    }

    @Test func `needs its settings, and is not for RevenueCat`() throws {
        let simulator = try #require(Self.simulator)
        let lacking = try place(simulator, replacing: ("  vendor_number: 80012345\n", ""))
        let refused = try fetch(lacking)
        #expect(refused.status == 78)
        #expect(refused.errors.contains("app_store_connect lacks vendor_number"))
        let vendor = try place(simulator, replacing: ("80012345", "80012346"))
        let other = try fetch(vendor)
        #expect(other.status == 78)
        #expect(other.errors.contains("Invalid vendor number"))
        #expect(try vendor.run("compare", "revenuecat", "--fetch").status == 64)
        #expect(try vendor.run("compare", "app-store-connect").status == 64)
    }
}
