import Reconciliation
import Subscriptions
import Testing

@Suite struct `The insert veto` {
    private let missing = Sample.stated("3000") { $0.transaction.subscriptionGroupID = "second" }

    private func judged(takesInserts: Bool) throws -> RowOutcome {
        let policy = Sample.policy {
            $0.history = .never
            $0.kept.takesInserts = takesInserts
        }
        return try outcome(
            Sample.item(Sample.row(), [Sample.stated(), missing]), policy, of: "3000")
    }

    @Test func `nothing is inserted where the mapping of the company's table does not allow it`()
        throws
    {
        let outcome = try judged(takesInserts: false)
        #expect(outcome.corrections.isEmpty)
        let finding = try outcome.finding(.missingLocally)
        #expect(finding.action == .refused)
        #expect(finding.cause?.contains("store.subscriptions.insert") == true)
    }

    @Test func `a table that takes rows gets them`() throws {
        let outcome = try judged(takesInserts: true)
        #expect(outcome.corrections.map(\.action) == [.insert])
        #expect(try outcome.finding(.missingLocally).action == .planned)
    }
}
