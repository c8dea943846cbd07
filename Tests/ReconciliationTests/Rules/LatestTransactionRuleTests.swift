import Reconciliation
import Subscriptions
import Testing

@Suite struct `The latest transaction rule` {
    @Test func `reports another line item and sets both ids`() throws {
        let stated = Sample.stated()
        let row = Sample.row(of: stated) {
            $0.latestTransactionID = "1"
            $0.webOrderLineItemID = "2"
        }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.kinds == [.latestTransaction])
        #expect(try outcome.finding(.latestTransaction).severity == .medium)
        #expect(
            try outcome.changes() == [
                "latest_transaction_id": stated.transaction.transactionID,
                "web_order_line_item_id": stated.transaction.webOrderLineItemID ?? "",
                "signed_date": stated.signedDate.rfc3339,
            ])
    }

    @Test func `reports a line item alone`() throws {
        let row = Sample.row { $0.webOrderLineItemID = "2" }
        let outcome = try outcome(row, beside: Sample.stated())
        #expect(outcome.kinds == [.latestTransaction])
        #expect(outcome.findings[0].field == "web_order_line_item_id")
    }

    @Test func `takes another transaction of the same line item for no difference`() throws {
        let row = Sample.row { $0.latestTransactionID = "2000000000000999" }
        let outcome = try outcome(row, beside: Sample.stated())
        #expect(outcome.verdict == .match)
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `asks for the whole history where only the id differs, and goes by it`() throws {
        let stated = Sample.stated()
        let row = Sample.row(of: stated) { $0.latestTransactionID = "2000000000000999" }
        var item = Sample.item(row, [stated])
        item.asked?.historyRevision = "r7"
        guard case .needs(let question) = judge(item, policy: Sample.policy()) else {
            Issue.record("no question")
            return
        }
        #expect(question == .history(after: nil))
        item.history = .complete([stated.transaction])
        let wrong = try outcome(item)
        #expect(wrong.kinds == [.latestTransaction])
        #expect(try wrong.finding(.latestTransaction).field == "latest_transaction_id")
        #expect(try wrong.changes()["latest_transaction_id"] == stated.transaction.transactionID)
        // Another line item's, and another subscription's.
        var other = stated.transaction
        other.transactionID = "2000000000000999"
        other.webOrderLineItemID = "1"
        item.history = .complete([stated.transaction, other])
        #expect(try outcome(item).kinds == [.latestTransaction])
        other.webOrderLineItemID = stated.transaction.webOrderLineItemID
        item.history = .complete([stated.transaction, other])
        let restored = try outcome(item)
        #expect(restored.verdict == .match && restored.corrections.isEmpty)
        // What could not be read proves nothing, and is asked for again.
        item.history = .incomplete("a page is missing")
        let open = try outcome(item)
        #expect(open.verdict == .match)
        #expect(open.check?.values == ValuesDigest(bits: 0))
    }

    @Test func `asks nothing about an id that was agreed with`() throws {
        let stated = Sample.stated()
        let row = Sample.row(of: stated) { $0.latestTransactionID = "2000000000000999" }
        var item = Sample.item(row, [stated])
        item.asked?.check = CheckRecord(
            check: RowCheck(
                signedDate: Sample.now(days: -1), clock: nil, isLasting: true,
                values: ValuesDigest(of: row)), askedAt: Sample.now(days: -1))
        guard case .outcomes(let outcomes) = judge(item, policy: Sample.policy()) else {
            Issue.record("a question")
            return
        }
        #expect(outcomes.map(\.verdict) == [.match])
    }

    @Test func `goes by the id where no line item is known`() throws {
        let stated = Sample.stated()
        let same = Sample.row(of: stated) { $0.webOrderLineItemID = nil }
        #expect(try outcome(same, beside: stated).verdict == .match)
        let other = Sample.row(of: stated) {
            $0.webOrderLineItemID = nil
            $0.latestTransactionID = "1"
        }
        #expect(try outcome(other, beside: stated).kinds == [.latestTransaction])
    }

    @Test func `finds the line item of our transaction among the stored periods`() throws {
        let stated = Sample.stated()
        let row = Sample.row(of: stated) {
            $0.webOrderLineItemID = nil
            $0.latestTransactionID = "1"
        }
        var restored = stated.transaction
        restored.transactionID = "1"
        let item = Sample.item(row, [stated]) {
            $0.asked?.periods = [Sample.period(of: restored)]
        }
        #expect(try outcome(item).verdict == .match)
    }

    @Test(arguments: [SubscriptionField.expiresDate, .productID, .status])
    func `is silent where something else tells of another period`(
        field: SubscriptionField
    ) throws {
        let stated = Sample.stated()
        let row = Sample.row(of: stated) {
            $0.latestTransactionID = "1"
            $0.webOrderLineItemID = "2"
            switch field {
            case .expiresDate: $0.expiresDate = Sample.now(days: -10)
            case .productID: $0.productID = "silver.monthly"
            default: $0.status = 2
            }
        }
        let outcome = try outcome(row, beside: stated)
        #expect(!outcome.kinds.contains(.latestTransaction))
        #expect(try outcome.changes()["web_order_line_item_id"] != nil)
    }
}
