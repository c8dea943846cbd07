import Reconciliation
import Subscriptions
import Testing

/// Whose transactions a history holds.
@Suite struct `The history of a customer` {
    private let stated = Sample.stated { $0.transaction.appTransactionID = "account 1" }

    private func transaction(
        _ id: String, of original: String = Sample.id,
        _ change: (inout SignedTransaction) -> Void = { _ in }
    ) -> SignedTransaction {
        var transaction = stated.transaction
        transaction.transactionID = id
        transaction.originalTransactionID = original
        transaction.webOrderLineItemID = "item " + id
        change(&transaction)
        return transaction
    }

    private var item: Case { Sample.item(Sample.row(of: stated), [stated]) }

    @Test func `a page of another customer in the middle proves no absence`() throws {
        let foreign = transaction("8", of: "9000") {
            $0.appTransactionID = "account 2"
            $0.appAccountToken = nil
        }
        let pages = [stated.transaction, foreign, transaction("7")]
        for history in [HistoryReading.complete(pages), .since(revision: "r1", pages)] {
            var item = item
            guard case .incomplete = customerHistory(history, of: item) else {
                Issue.record("\(history)")
                continue
            }
            item.history = customerHistory(history, of: item)
            item.asked?.periods = [
                Sample.period(of: stated.transaction), Sample.period(of: transaction("6")),
            ]
            let outcome = try outcome(item)
            #expect(outcome.verdict == .match)
            #expect(outcome.findings.isEmpty && outcome.corrections.isEmpty)
        }
    }

    @Test func `all that the customer bought belongs to them`() {
        let pages = [
            stated.transaction, transaction("7"),
            transaction("20", of: "20") { $0.type = "Consumable" },
            // Listed under another original id than before.
            transaction("5", of: "4999"),
            transaction("30", of: "30") {
                $0.appTransactionID = nil
                $0.type = "Non-Consumable"
                $0.appAccountToken = nil
            },
            transaction("6", of: "4000") { $0.appTransactionID = nil },
        ]
        #expect(customerHistory(.complete(pages), of: item) == .complete(pages))
    }

    @Test func `what shows no owner has none`() {
        let pages = [
            stated.transaction,
            transaction("8", of: "9000") {
                $0.appTransactionID = nil
                $0.appAccountToken = nil
            },
        ]
        guard case .incomplete = customerHistory(.complete(pages), of: item) else {
            Issue.record("taken for the customer's")
            return
        }
    }
}
