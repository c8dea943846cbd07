import Reconciliation
import Subscriptions
import Testing

@Suite struct `The transaction unknown rule` {
    private let current = Sample.stated().transaction

    private func outcome(_ history: HistoryReading) throws -> RowOutcome {
        var foreign = Sample.period(of: current) {
            $0.webOrderLineItemID = "77"
            $0.price = 4_990
        }
        foreign.key = TransactionKey(
            bundleID: foreign.key.bundleID, environment: foreign.key.environment,
            transactionID: "7")
        let item = Sample.item(Sample.row(), [Sample.stated()]) {
            $0.asked?.periods = [Sample.period(of: current), foreign]
            $0.history = history
        }
        return try ReconciliationTests.outcome(item)
    }

    @Test func `reports a period that a complete history lacks`() throws {
        let outcome = try outcome(.complete([current]))
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.kinds == [.transactionUnknown])
        #expect(outcome.findings[0].severity == .high)
        #expect(outcome.findings[0].field == "7")
        #expect(outcome.findings[0].amount == 4_990)
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `proves no absence by anything less`() throws {
        let readings: [HistoryReading] = [
            .since(revision: "r1", [current]), .incomplete("cut off"), .complete([]),
        ]
        for reading in readings {
            #expect(try outcome(reading).verdict == .match)
        }
    }

    @Test func `finds a period that Apple lists under another original id`() throws {
        var elsewhere = current
        elsewhere.transactionID = "7"
        elsewhere.webOrderLineItemID = "77"
        elsewhere.originalTransactionID = "3000"
        #expect(try outcome(.complete([current, elsewhere])).verdict == .match)
    }
}
