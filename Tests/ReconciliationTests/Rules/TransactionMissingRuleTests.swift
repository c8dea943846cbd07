import Reconciliation
import Subscriptions
import Testing

@Suite struct `The transaction missing rule` {
    private let current = Sample.stated().transaction

    private func earlier(
        _ number: Int, _ change: (inout SignedTransaction) -> Void = { _ in }
    ) -> SignedTransaction {
        var transaction = current
        transaction.evidence = Sample.payload("period \(number)")
        transaction.transactionID = "500\(number)"
        transaction.webOrderLineItemID = "600\(number)"
        transaction.purchaseDate = Sample.now(days: Int64(-400 + number))
        transaction.expiresDate = Sample.now(days: Int64(-370 + number))
        change(&transaction)
        return transaction
    }

    private func item(
        _ history: HistoryReading?, periods: [LocalTransaction],
        row: LocalSubscription = Sample.row()
    ) -> Case {
        Sample.item(row, [Sample.stated()]) {
            $0.asked?.periods = periods
            $0.asked?.historyRevision = "r1"
            $0.history = history
        }
    }

    @Test func `reports and inserts a period that we do not hold`() throws {
        let missing = earlier(1)
        let item = item(.complete([current, missing]), periods: [Sample.period(of: current)])
        let outcome = try outcome(item)
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.kinds == [.transactionMissing])
        #expect(outcome.findings[0].severity == .medium)
        #expect(outcome.findings[0].field == "5001")
        #expect(outcome.findings[0].action == .planned)
        let correction = try #require(outcome.corrections.first)
        #expect(
            correction.target
                == .insertPeriod(
                    TransactionKey(
                        bundleID: "com.example.app", environment: "Production",
                        transactionID: "5001"),
                    of: Sample.row().key))
        #expect(correction.table == "transactions")
        #expect(correction.evidenceRenewal == nil)
        #expect(correction.changes.ofPeriod[.price]?.after == .integer(10_990))
        #expect(correction.changes.ofPeriod[.isUpgraded]?.after == .integer(0))
        #expect(correction.changes.ofPeriod[.originalTransactionID]?.after == .text(Sample.id))
        #expect(outcome.hasAllEvidence)
    }

    @Test func `a period whose refund was prorated entitles on`() throws {
        let prorated = earlier(2) {
            $0.expiresDate = Sample.now(days: 3)
            $0.revocationDate = Sample.now(days: -1)
            $0.revocationType = "REFUND_PRORATED"
        }
        let item = item(.complete([current, prorated]), periods: [Sample.period(of: current)])
        #expect(try outcome(item).findings.map(\.severity) == [.high])
    }

    @Test func `names the current period by the status answer's transaction`() throws {
        var restored = current
        restored.transactionID = "4"
        restored.purchaseDate = Sample.now(days: -11)
        let item = item(.complete([restored, current]), periods: [Sample.period(of: earlier(1))])
        let missing = try outcome(item).finding(.transactionMissing)
        #expect(missing.transactionID == current.transactionID)
        #expect(missing.field == "4")
    }

    @Test func `is high when the period entitles now`() throws {
        let item = item(.since(revision: "r1", [current]), periods: [Sample.period(of: earlier(1))])
        #expect(try outcome(item).findings.map(\.severity) == [.high])
        let refunded = earlier(2) {
            $0.expiresDate = Sample.now(days: 3)
            $0.revocationDate = Sample.now
        }
        let other = self.item(
            .since(revision: "r1", [refunded]), periods: [Sample.period(of: current)])
        #expect(try outcome(other).findings.map(\.severity) == [.medium])
    }

    @Test func `counts restores of one line item as one period`() throws {
        let restored = earlier(2) { $0.webOrderLineItemID = "6001" }
        let item = item(
            .complete([restored, earlier(1), current]), periods: [Sample.period(of: current)])
        #expect(try outcome(item).findings.map(\.field) == ["5001"])
        let held = self.item(
            .complete([restored, earlier(1), current]),
            periods: [Sample.period(of: current), Sample.period(of: restored)])
        #expect(try outcome(held).verdict == .match)
    }

    @Test func `goes by the newest signed of two versions of a transaction`() throws {
        let refunded = earlier(1) {
            $0.revocationDate = Sample.now
            $0.signedDate = Sample.now
        }
        let item = item(
            .complete([refunded, earlier(1), current]), periods: [Sample.period(of: current)])
        let outcome = try outcome(item)
        #expect(outcome.corrections.count == 1)
        #expect(
            outcome.corrections[0].changes.ofPeriod[.revocationDate]?.after == .time(Sample.now))
    }

    @Test func `ignores the customer's other subscriptions`() throws {
        let foreign = earlier(1) { $0.originalTransactionID = "3000" }
        let item = item(.complete([current, foreign]), periods: [Sample.period(of: current)])
        #expect(try outcome(item).verdict == .match)
    }

    @Test func `is silent where no periods are kept`() throws {
        let item = item(.complete([current, earlier(1)]), periods: [])
        let outcome = try outcome(item)
        #expect(outcome.verdict == .match)
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `fills periods without findings where history is always read`() throws {
        let policy = Sample.policy { $0.history = .always }
        #expect(nextQuestion(for: item(nil, periods: []), policy: policy) == .history(after: "r1"))
        let item = item(.complete([current, earlier(1)]), periods: [])
        let outcome = try outcome(item, policy)
        #expect(outcome.verdict == .match)
        #expect(outcome.findings.isEmpty)
        #expect(outcome.corrections.map(\.kinds) == [[], []])
        #expect(outcome.hasAllEvidence)
    }

    @Test func `fills the periods of a subscription that it takes in`() throws {
        let policy = Sample.policy { $0.history = .always }
        let sibling = Sample.stated("3000") { $0.transaction.subscriptionGroupID = "second" }
        var item = Sample.item(Sample.row(), [Sample.stated(), sibling]) {
            $0.asked?.historyRevision = "r1"
        }
        #expect(nextQuestion(for: item, policy: policy) == .history(after: nil))
        item.history = .complete([current, sibling.transaction])
        let outcome = try outcome(item, policy, of: "3000")
        #expect(outcome.corrections.map(\.table) == ["subscriptions", "transactions"])
        #expect(outcome.hasAllEvidence)
    }

    @Test func `asks for the history only when something needs it`() {
        let held = [Sample.period(of: current)]
        let drifted = Sample.row { $0.status = 2 }
        let policy = Sample.policy()
        #expect(nextQuestion(for: item(nil, periods: held), policy: policy) == nil)
        #expect(nextQuestion(for: item(nil, periods: [], row: drifted), policy: policy) == nil)
        #expect(
            nextQuestion(for: item(nil, periods: held, row: drifted), policy: policy)
                == .history(after: "r1"))
        #expect(
            nextQuestion(
                for: item(nil, periods: [Sample.period(of: earlier(1))]), policy: policy)
                == .history(after: "r1"))
        let never = Sample.policy { $0.history = .never }
        #expect(nextQuestion(for: item(nil, periods: held, row: drifted), policy: never) == nil)
        #expect(
            nextQuestion(
                for: item(.incomplete("cut"), periods: held, row: drifted), policy: policy) == nil)
    }

    @Test func `reads from the beginning where the customer's rows were read to other places`() {
        let sibling = Sample.stated("3000") { $0.transaction.subscriptionGroupID = "second" }
        let held = Sample.row(of: sibling) { $0.status = 2 }
        let drifted = Sample.row { $0.status = 2 }
        var item = Sample.item(drifted, [Sample.stated(), sibling], held: [held]) {
            $0.asked?.periods = [Sample.period(of: current)]
            $0.asked?.historyRevision = "r1"
            $0.held[0].periods = [Sample.period(of: sibling.transaction)]
            $0.held[0].historyRevision = "r2"
        }
        #expect(nextQuestion(for: item, policy: Sample.policy()) == .history(after: nil))
        item.held[0].historyRevision = "r1"
        #expect(nextQuestion(for: item, policy: Sample.policy()) == .history(after: "r1"))
    }

    @Test func `writes no period of a row that may not be written`() throws {
        let row = Sample.row { $0.appAccountToken = "00000000-0000-4000-8000-000000000001" }
        let item = item(
            .complete([current, earlier(1)]), periods: [Sample.period(of: current)], row: row)
        let outcome = try outcome(item)
        #expect(outcome.kinds == [.identity, .transactionMissing])
        #expect(outcome.corrections.isEmpty)
    }
}
