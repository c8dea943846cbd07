import Reconciliation
import Subscriptions
import Testing

@Suite struct `The unreadable value rule` {
    private let comparable = SubscriptionField.allCases.filter {
        ![.originalTransactionID, .environment, .bundleID, .customerID].contains($0)
    }

    @Test func `finds a value of every column, and writes nothing of the row`() throws {
        for field in comparable {
            let row = Sample.row {
                $0.status = 2
                $0.unreadable = [field: "soon"]
            }
            let outcome = try outcome(row, beside: Sample.stated())
            #expect(outcome.verdict == .undecided(.unreadableValue), "\(field)")
            #expect(outcome.kinds == [.unreadableValue])
            let finding = try outcome.finding(.unreadableValue)
            #expect(finding.severity == .high)
            #expect(finding.field == field.rawValue)
            #expect(finding.localValue == .text("soon"))
            #expect(finding.action == .none)
            #expect(outcome.corrections.isEmpty)
        }
    }

    @Test func `takes an unreadable status for no row that is not known yet`() throws {
        let row = Sample.row {
            $0.status = nil
            $0.unreadable = [.status: "active", .expiresDate: "x'00'"]
        }
        let outcome = try outcome(row, beside: Sample.stated())
        #expect(outcome.verdict == .undecided(.unreadableValue))
        #expect(outcome.findings.map(\.field) == ["expires_date", "status"])
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `says so whatever Apple answers`() throws {
        let row = Sample.row { $0.unreadable = [.productID: "x'ff'"] }
        for lookup in [Lookup<StatusAnswer>.transactionNotFound, .unavailable("down")] {
            let outcome = try outcome(Sample.item(row, lookup))
            #expect(outcome.verdict == .undecided(.unreadableValue))
            #expect(outcome.kinds == [.unreadableValue])
        }
    }

    @Test func `counts a period's value for its subscription and inserts no period`() throws {
        let stated = Sample.stated()
        var missing = stated.transaction
        missing.transactionID = "5"
        missing.webOrderLineItemID = "6"
        var item = Sample.item(Sample.row(), [stated])
        item.asked?.periods = [
            Sample.period(of: stated.transaction) {
                $0.webOrderLineItemID = nil
                $0.unreadable = [.webOrderLineItemID: "x'00'"]
            }
        ]
        item.history = .complete([stated.transaction, missing])
        let outcome = try outcome(item)
        #expect(outcome.verdict == .undecided(.unreadableValue))
        #expect(
            outcome.findings.map(\.field)
                == ["web_order_line_item_id:\(stated.transaction.transactionID)"])
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `leaves the customer's other rows alone`() throws {
        let other = Sample.stated("3000")
        let row = Sample.row { $0.unreadable = [.status: "active"] }
        let held = Sample.row(of: other) { $0.expiresDate = Sample.now(days: 1) }
        let item = Sample.item(row, [Sample.stated(), other], held: [held])
        let outcome = try outcome(item, of: "3000")
        #expect(outcome.kinds == [.expiry])
        #expect(outcome.corrections.count == 1)
    }
}
