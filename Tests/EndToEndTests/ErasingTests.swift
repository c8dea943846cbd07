import Foundation
import TestSupport
import Testing

/// Erasing a customer's evidence while the clock of the runs is another one than the machine's.
@Suite(.timeLimit(.minutes(30))) struct `Erased evidence` {
    private static let job = """
        steps: [walk]
        mode: apply
        coverage: delta
        sample: 0
        settle: 0s
        fail_on: none
        guards: {max_changes: 100000, max_change_share: 1, max_not_found_share: 1}

        """

    private func verdict(_ place: Workplace) throws -> [String: Any] {
        let verified = try place.run("verify", "--database", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(verified.output.utf8))
        return try #require(object as? [String: Any])
    }

    @Test func `of a rehearsal in the past leaves the next report intact`() throws {
        let simulator = try RunningSimulator([
            "--customers", "60", "--drift", "0.6", "--seed", "23", "--now", "2025-03-10T02:00:00Z",
        ])
        let place = try Workplace(on: simulator)
        try place.folder.write(Self.job, to: "jobs/nightly.yaml")
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        let first = try place.run("run", "nightly", "--now", "2025-03-10T03:00:00Z")
        try #require(first.status == 0, "\(first.errors)\n\(first.output)")
        let open = try place.reportLines("discrepancies.jsonl").filter {
            $0["kind"] as? String == "identity"
        }
        try #require(!open.isEmpty)
        for finding in open {
            let customer = try #require(finding["customer_id"] as? String)
            let erased = try place.run("erase", customer, "--execute")
            try #require(erased.status == 0, "\(erased.output)\(erased.errors)")
        }
        // The finding is still open, and rests on what the machine's clock erased later.
        let second = try place.run("run", "nightly", "--now", "2025-03-11T03:00:00Z")
        try #require(second.status == 0, "\(second.errors)\n\(second.output)")
        let after = try verdict(place)
        #expect(after["verdict"] as? String == "intact", "\(after)")
        #expect(try #require(after["tombstones"] as? Int) > 0)
        // Each report has its own, so this is not how many payloads were erased.
        let verified = try place.run("verify")
        #expect(verified.output.contains(" of erased payloads, each report"), "\(verified.output)")
        #expect(!verified.output.contains("were erased"), "\(verified.output)")
    }

    @Test func `before the clock was set back leaves the next report intact`() throws {
        let simulator = try RunningSimulator([
            "--customers", "60", "--drift", "0.6", "--seed", "23",
        ])
        let place = try Workplace(on: simulator)
        try place.folder.write(Self.job, to: "jobs/nightly.yaml")
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        try #require(place.run("run", "nightly").status == 0)
        for finding in try place.reportLines("discrepancies.jsonl")
        where finding["kind"] as? String == "identity" {
            let customer = try #require(finding["customer_id"] as? String)
            try #require(place.run("erase", customer, "--execute").status == 0)
        }
        // As if the clock had been two days ahead when they were erased.
        try place.sql(
            "UPDATE trueup_evidence SET erased_at = erased_at + 172800000 WHERE erased_at IS NOT NULL"
        )
        try #require(place.run("run", "nightly").status == 0)
        let after = try verdict(place)
        #expect(after["verdict"] as? String == "intact", "\(after)")
        #expect(try #require(after["tombstones"] as? Int) > 0)
    }

    @Test func `names the same reports as the list, and says that comparisons may show more`()
        throws
    {
        let simulator = try RunningSimulator(["--customers", "30", "--drift", "0", "--seed", "23"])
        let place = try Workplace(on: simulator)
        try place.folder.write(Self.job, to: "jobs/nightly.yaml")
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        let night = try place.run("run", "nightly")
        try #require(night.status == 0, "\(night.errors)\n\(night.output)")
        let customers = try place.stored(
            "SELECT DISTINCT customer_id FROM subscriptions WHERE customer_id <> ''")
        let customer = try #require(
            try customers.compactMap(\.first).first {
                try runs(place, "erase", $0, "--json").isEmpty
            })
        // As if unowned.csv had a row of the customer, and nothing else of the report.
        try place.sql(
            """
            INSERT INTO trueup_unowned (
                listed_by, key_id, bundle_id, environment, original_transaction_id, reason,
                customer_id, since_run)
            SELECT 'subscriptions', original_transaction_id, bundle_id, environment,
                original_transaction_id, 'no_token', customer_id,
                (SELECT max(run_seq) FROM trueup_runs)
            FROM subscriptions WHERE customer_id = '\(customer)'
            """)
        let before = try runs(place, "erase", customer, "--json")
        #expect(before.count == 1)
        #expect(try runs(place, "erase", customer, "--execute", "--json") == before)

        #expect(try !place.run("erase", customer).output.contains("comparisons"))
        try FileManager.default.createDirectory(
            at: place.folder.url.appendingPathComponent("reports/compare/2025-03-10/a-comparison"),
            withIntermediateDirectories: true)
        #expect(try place.run("erase", customer).output.contains("comparisons"))
    }

    private func runs(_ place: Workplace, _ arguments: String...) throws -> [String] {
        let erased = try place.run(arguments)
        try #require(erased.status == 0, "\(erased.output)\(erased.errors)")
        let object = try JSONSerialization.jsonObject(with: Data(erased.output.utf8))
        return try #require((object as? [String: Any])?["runs"] as? [String])
    }
}
