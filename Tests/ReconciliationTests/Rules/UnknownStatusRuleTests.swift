import Reconciliation
import Subscriptions
import Testing

@Suite struct `The unknown status rule` {
    @Test(arguments: [0, 6, -1, Int.max])
    func `leaves the row undecided and reports the value`(status: Int) throws {
        let stated = Sample.stated(Sample.id, SubscriptionStatus(rawValue: status))
        let row = Sample.row { $0.productID = "silver.monthly" }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.verdict == .undecided(.unknownStatus))
        #expect(outcome.kinds == [.unknownValue])
        #expect(outcome.findings[0].severity == .info)
        #expect(outcome.findings[0].appleValue == .integer(Int64(status)))
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `keeps a subscription of unknown status out of the table`() throws {
        let sibling = Sample.stated("3000", SubscriptionStatus(rawValue: 6))
        let outcome = try outcome(
            Sample.item(Sample.row(), [Sample.stated(), sibling]), of: "3000")
        #expect(outcome.kinds == [.missingLocally, .unknownValue])
        #expect(outcome.corrections.isEmpty)
    }
}
