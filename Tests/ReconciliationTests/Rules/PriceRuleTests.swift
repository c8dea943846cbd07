import Reconciliation
import Subscriptions
import Testing

@Suite struct `The price rule` {
    private func outcome(
        _ stated: StatedSubscription = Sample.stated(),
        ours change: (inout LocalTransaction) -> Void
    ) throws -> RowOutcome {
        let period = Sample.period(of: stated.transaction, change)
        let item = Sample.item(Sample.row(of: stated), [stated]) { $0.asked?.periods = [period] }
        return try ReconciliationTests.outcome(item)
    }

    @Test func `reports another price and never corrects it`() throws {
        let outcome = try outcome { $0.price = 9_990 }
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.kinds == [.price])
        let finding = outcome.findings[0]
        #expect(finding.severity == .medium)
        #expect(finding.field == "price:\(Sample.id)7")
        #expect(finding.localValue == .integer(9_990))
        #expect(finding.appleValue == .integer(10_990))
        #expect(finding.amount == 1_000)
        #expect(finding.currency == "EUR")
        #expect(outcome.corrections.isEmpty)
        #expect(outcome.hasAllEvidence)
    }

    @Test func `reports another currency without an amount`() throws {
        let outcome = try outcome {
            $0.price = 5
            $0.currency = "USD"
        }
        #expect(outcome.kinds == [.price, .price])
        #expect(outcome.findings.allSatisfy { $0.amount == nil })
    }

    @Test func `takes zero for a price and nothing for no price`() throws {
        #expect(try outcome { $0.price = 0 }.kinds == [.price])
        #expect(try outcome { $0.price = nil }.verdict == .match)
        let silent = Sample.stated { $0.transaction.price = nil }
        #expect(try outcome(silent) { $0.price = 10_990 }.verdict == .match)
    }

    @Test(arguments: [Int64.min, .max])
    func `survives amounts that do not fit`(price: Int64) throws {
        let negative = Sample.stated { $0.transaction.price = price == .max ? -2 : 0 }
        #expect(try outcome(negative) { $0.price = price }.kinds == [.price])
    }

    @Test func `matches a period by its line item before its transaction id`() throws {
        let stated = Sample.stated()
        let outcome = try outcome(stated) {
            $0.key = TransactionKey(
                bundleID: $0.key.bundleID, environment: $0.key.environment, transactionID: "1")
            $0.price = 9_990
        }
        #expect(outcome.findings.map(\.field) == ["price:1"])
    }

    @Test func `holds a further device's transaction against its own price`() throws {
        let first = Sample.stated().transaction
        var restored = first
        restored.transactionID = "9" + first.transactionID
        restored.purchaseDate = Sample.now(days: -5)
        restored.evidence = Sample.payload("restored")
        restored.price = 0
        var period = Sample.period(of: restored).emptied(of: [.price])
        let outcome = { (period: LocalTransaction) throws -> RowOutcome in
            try ReconciliationTests.outcome(
                Sample.item(Sample.row(), [Sample.stated()]) {
                    $0.asked?.periods = [period]
                    $0.history = .complete([first, restored])
                })
        }
        // What is filled in of it must not be a difference afterwards.
        #expect(try outcome(period).changes() == ["price": "0"])
        period.price = 0
        #expect(try outcome(period).verdict == .match)
        period.price = first.price
        #expect(try outcome(period).findings.map(\.evidence) == [restored.evidence.digest])
    }
}
