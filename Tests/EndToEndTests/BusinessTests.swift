import Foundation
import TestSupport
import Testing

/// What Apple's notifications say to the business, and who pays twice, on the built executables.
@Suite(.timeLimit(.minutes(30))) struct `The business view` {
    /// Simulated customers do what is a finding without any drift: two subscriptions of one group.
    private static let ended: [Int32] = [0, 2]

    private func place(_ arguments: String...) throws -> Workplace {
        let place = try Workplace(on: try RunningSimulator(arguments + ["--drift", "0"]))
        try place.writeJob("nightly", "settle: 0s")
        try #require(place.run("init").status == 0)
        let table = try #require(place.simulator.ready.tableFile)
        try #require(place.run("import", table).status == 0)
        return place
    }

    @Test func `counts each notification once, and says which days it has read`() throws {
        let place = try place("--customers", "150", "--seed", "23")
        try #require(Self.ended.contains(place.run("run", "nightly").status))
        let lines = try place.reportLines("business.jsonl")
        let whole = lines.filter { $0["day_read"] as? String == "whole" }
        #expect(!whole.isEmpty)
        #expect(whole.allSatisfy { $0["events"] is Int })
        let unread = lines.filter { $0["day_read"] as? String == "not" }
        #expect(!unread.isEmpty)
        #expect(unread.allSatisfy { $0["events"] is NSNull })
        let summary = try #require(try place.summary()["business"] as? [String: Any])
        let yesterday = try #require(summary["day"] as? String)
        #expect(whole.contains { $0["day"] as? String == yesterday })
        let renewals = lines.filter { $0["event"] as? String == "renewal" }
            .compactMap { $0["events"] as? Int }.reduce(0, +)
        let told = try place.report("notifications.csv").split(separator: "\r\n")
            .count { $0.contains(",DID_RENEW,,") }
        #expect(renewals > 0)
        #expect(renewals <= told)

        // The same is read again, and is not counted again.
        try #require(Self.ended.contains(place.run("run", "nightly").status))
        let again = try place.reportLines("business.jsonl")
        let counts = [lines, again].map { lines in
            lines.filter { $0["day"] as? String == yesterday }.map { $0["events"] as? Int }
        }
        #expect(counts[0] == counts[1])
        let root = place.simulator.ready.rootFile
        let verified = try place.run("verify", "reports", "--trusted-root", root)
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        let page = try place.report("report.html")
        #expect(page.contains("The last whole day is \(yesterday)"))
    }

    @Test func `a job that only checks counts nothing, and states no zero`() throws {
        let place = try place("--customers", "60", "--seed", "5")
        try #require(Self.ended.contains(place.run("check", "nightly").status))
        #expect(try place.report("business.jsonl").isEmpty)
        #expect(try place.report("report.html").contains("That day was not read"))
    }

    @Test func `who pays elsewhere, too, is a finding until that ends`() throws {
        let place = try place("--customers", "40", "--seed", "8")
        try #require(Self.ended.contains(place.run("run", "nightly").status))
        let paying = try #require(
            place.rows().values.first {
                $0["status"] == "1" && $0["in_app_ownership_type"] == "PURCHASED"
            })
        let id = try #require(paying["original_transaction_id"])
        func pays(until text: String) throws {
            let file = try place.folder.write(
                "original_transaction_id,paid_elsewhere_until\n\(id),\(text)\n", to: "web.csv")
            let imported = try place.run("import", file)
            #expect(imported.status == 0, "\(imported.errors)")
            #expect(imported.output.contains("1 updated"), "\(imported.output)")
            try #require(Self.ended.contains(place.run("run", "nightly").status))
        }
        func found() throws -> [[String: Any]] {
            try place.reportLines("discrepancies.jsonl").filter {
                $0["kind"] as? String == "overlapping_subscriptions"
                    && $0["field"] as? String == "paid_elsewhere_until"
            }
        }
        try pays(until: "2099-01-01T00:00:00Z")
        let finding = try #require(found().first)
        #expect(try found().count == 1)
        #expect(finding["original_transaction_id"] as? String == id)
        #expect(finding["local_value"] as? String == "2099-01-01T00:00:00.000Z")
        #expect(finding["severity"] as? String == "medium")
        #expect(finding["action"] as? String == "none")
        let corrected = try place.reportLines("corrections.jsonl")
        #expect(!corrected.contains { $0["original_transaction_id"] as? String == id })
        let row = try #require(
            place.rows().values.first { $0["original_transaction_id"] == id })
        #expect(row["paid_elsewhere_until"] == "2099-01-01T00:00:00.000Z")
        #expect(
            row.filter { $0.key != "paid_elsewhere_until" }
                == paying.filter { $0.key != "paid_elsewhere_until" })
        try pays(until: "2001-01-01T00:00:00Z")
        #expect(try found().isEmpty)
    }
}
