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
}
