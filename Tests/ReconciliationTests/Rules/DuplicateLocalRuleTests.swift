import Reconciliation
import Subscriptions
import Testing

@Suite struct `The duplicate local rule` {
    private let other = SubscriptionKey(app: Sample.app, originalTransactionID: "9")

    @Test func `reports a shared line item and writes neither row`() throws {
        let row = Sample.row { $0.autoRenewStatus = 0 }
        let item = Sample.item(row, [Sample.stated()]) { $0.asked?.duplicates = [other] }
        let outcome = try outcome(item)
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.kinds == [.duplicateLocal, .renewalPreference])
        let finding = try outcome.finding(.duplicateLocal)
        #expect(finding.severity == .high)
        #expect(finding.field == "web_order_line_item_id")
        #expect(finding.localValue == .text("com.example.app/Production/9"))
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `tells a shared original transaction from a shared line item`() throws {
        let same = SubscriptionKey(app: Sample.otherApp, originalTransactionID: Sample.id)
        let item = Sample.item(Sample.row(), [Sample.stated()]) {
            $0.asked?.duplicates = [other, same]
        }
        #expect(
            try outcome(item).findings.map(\.field)
                == ["original_transaction_id", "web_order_line_item_id"])
    }

    @Test func `is reported of a row that stays undecided`() throws {
        let item = Sample.item(Sample.row(), .rateLimited) { $0.asked?.duplicates = [other] }
        let outcome = try outcome(item)
        #expect(outcome.verdict == .undecided(.rateLimited))
        #expect(outcome.kinds == [.duplicateLocal])
    }

    @Test func `is not reported of a row in flight`() throws {
        let row = Sample.row { $0.signedDate = Sample.now(minutes: -1) }
        let item = Sample.item(row, [Sample.stated()]) { $0.asked?.duplicates = [other] }
        #expect(try outcome(item).findings.isEmpty)
    }
}
