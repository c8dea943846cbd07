import Reconciliation
import Subscriptions
import Testing

@Suite struct `The migrated rule` {
    private let successor = Sample.stated("3000") {
        $0.transaction.previousOriginalTransactionID = Sample.id
    }

    @Test func `reports the new id that the answer shows, and asks no further`() throws {
        let item = Sample.item(Sample.row(), [successor])
        #expect(nextQuestion(for: item, policy: Sample.policy()) == nil)
        let outcomes = outcomes(of: item, policy: Sample.policy())
        #expect(outcomes.count == 1)
        let outcome = try #require(outcomes.first)
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.kinds == [.migrated])
        #expect(outcome.findings[0].severity == .medium)
        #expect(outcome.findings[0].appleValue == .text("3000"))
        #expect(outcome.corrections.isEmpty)
        #expect(outcome.hasAllEvidence)
    }

    @Test func `settles held rows of an answer that shows the successor`() {
        let held = Sample.row(of: successor) { $0.autoRenewStatus = 0 }
        let item = Sample.item(Sample.row(), [successor], held: [held])
        let outcomes = outcomes(of: item, policy: Sample.policy())
        #expect(outcomes.map(\.verdict) == [.discrepancy, .discrepancy])
        #expect(outcomes[1].corrections.count == 1)
    }

    @Test func `goes by transaction info where the answer shows nothing`() throws {
        var item = Sample.item(Sample.row(), [Sample.stated("5")])
        #expect(nextQuestion(for: item, policy: Sample.policy()) == .transactionInfo)
        item.transactionInfo = .answered(successor.transaction)
        let outcome = try outcome(item)
        #expect(outcome.kinds == [.migrated])
        #expect(outcome.findings[0].appleValue == .text("3000"))
    }

    @Test func `writes nothing to an old row that is still in the answer`() throws {
        let row = Sample.row { $0.status = 2 }
        let outcome = try outcome(Sample.item(row, [Sample.stated(), successor]))
        #expect(outcome.kinds == [.migrated])
        #expect(outcome.corrections.isEmpty)
    }
}
