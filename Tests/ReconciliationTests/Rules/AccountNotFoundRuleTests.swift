import Reconciliation
import Subscriptions
import Testing

@Suite struct `The account not found rule` {
    @Test func `reports it and takes no access away`() throws {
        let item = Sample.item(Sample.row(), .accountNotFound)
        #expect(nextQuestion(for: item, policy: Sample.policy()) == nil)
        let outcome = try outcome(item)
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.kinds == [.accountNotFound])
        #expect(outcome.findings[0].severity == .medium)
        #expect(outcome.corrections.isEmpty)
        #expect(outcome.absence == .nothing)
    }
}
