import Reconciliation
import Subscriptions
import Testing

@Suite struct `The invalid ID rule` {
    private func malformed(_ id: String) -> LocalSubscription {
        LocalSubscription(
            key: SubscriptionKey(app: Sample.app, originalTransactionID: id))
    }

    @Test(arguments: [
        "", " ", "2E+15", "2.00000012E+15", "20000 00", "-5", "２０", "20\u{0}00",
        "123456789012345678901", "🙂",
    ])
    func `reports an id that must not be asked for`(id: String) throws {
        let item = Sample.item(malformed(id), nil)
        #expect(nextQuestion(for: item, policy: Sample.policy()) == nil)
        let outcome = try outcome(item)
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.kinds == [.invalidID])
        #expect(outcome.findings[0].severity == .high)
        #expect(outcome.findings[0].localValue == .text(id))
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `reports an id that Apple refuses`() throws {
        let outcome = try outcome(Sample.item(Sample.row(), .invalidID))
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.kinds == [.invalidID])
    }

    @Test func `names the true original of a later transaction's id`() throws {
        var info = Sample.stated("3000").transaction
        info.transactionID = Sample.id
        var item = Sample.item(Sample.row(), [Sample.stated("3000")])
        #expect(nextQuestion(for: item, policy: Sample.policy()) == .transactionInfo)
        item.transactionInfo = .answered(info)
        #expect(nextQuestion(for: item, policy: Sample.policy()) == nil)
        let outcomes = outcomes(of: item, policy: Sample.policy())
        #expect(outcomes.count == 1)
        #expect(outcomes[0].verdict == .discrepancy)
        #expect(outcomes[0].kinds == [.invalidID])
        #expect(outcomes[0].findings[0].appleValue == .text("3000"))
        #expect(outcomes[0].corrections.isEmpty)
        #expect(outcomes[0].hasAllEvidence)
    }

    @Test func `changes neither row where the true original is held too`() {
        var info = Sample.stated("3000").transaction
        info.transactionID = Sample.id
        let held = Sample.row(of: Sample.stated("3000")) { $0.status = 2 }
        let item = Sample.item(Sample.row(), [Sample.stated("3000")], held: [held]) {
            $0.transactionInfo = .answered(info)
        }
        let outcomes = outcomes(of: item, policy: Sample.policy())
        #expect(outcomes.map(\.kinds) == [[.invalidID], [.accessMissing]])
        #expect(outcomes.flatMap(\.corrections).isEmpty)
        #expect(outcomes[1].findings[0].action == .refused)
    }

    @Test func `does not believe info about another transaction`() throws {
        let item = Sample.item(Sample.row(), [Sample.stated("3000")]) {
            $0.transactionInfo = .answered(Sample.stated("3000").transaction)
        }
        #expect(try outcome(item).verdict == .undecided(.idNotInAnswer))
    }
}
