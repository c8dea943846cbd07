import ReportAudit
import TestSupport
import Testing

/// What the auditor finds in the counts of one-time purchases.
@Suite struct `The audit of the counts of purchases` {
    private func problems(_ change: [String: Int], found: Int = 0) async throws -> [String] {
        let counts = [
            "matched": 7, "discrepant": 0, "undecided": 1, "not_checked": 2, "stored": 10,
            "corrected": 0, "inserted": 0, "missing": 0,
        ].merging(change) { $1 }
        let reports = try HandMadeReports()
        try reports.addNight(
            [], purchases: counts,
            findings: (0..<found).map { ["finding_id": "\($0)", "kind": "purchase_refund_missed"] })
        return try await reports.audit().problems.filter { $0.contains("its purchases") }
    }

    @Test func `passes counts that add up`() async throws {
        #expect(try await problems([:]).isEmpty)
        let found = ["matched": 5, "discrepant": 2, "corrected": 1]
        #expect(try await problems(found, found: 2).isEmpty)
    }

    @Test(arguments: [
        ["matched": 8], ["stored": 9], ["not_checked": -1, "matched": 10],
        ["corrected": 1], ["inserted": 1],
        // No finding says which these are.
        ["matched": 6, "discrepant": 1], ["missing": 1],
    ])
    func `finds counts that do not`(change: [String: Int]) async throws {
        #expect(try await problems(change).count == 1)
    }
}
