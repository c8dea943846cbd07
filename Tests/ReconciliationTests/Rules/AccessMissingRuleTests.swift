import Reconciliation
import Subscriptions
import Testing

@Suite struct `The access missing rule` {
    @Test(arguments: [(2, 1), (3, 1)])
    func `reports and corrects it`(ours: Int, apple: Int) throws {
        let stated = Sample.stated(Sample.id, SubscriptionStatus(rawValue: apple))
        let row = Sample.row(of: stated) { $0.status = ours }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.verdict == .discrepancy)
        let finding = try outcome.finding(.accessMissing)
        #expect(finding.severity == .critical)
        #expect(finding.direction == .customerLoses)
        #expect(finding.field == "status")
        #expect(finding.localValue == .integer(Int64(ours)))
        #expect(finding.appleValue == .integer(Int64(apple)))
        #expect(finding.amount == 10_990)
        #expect(finding.currency == "EUR")
        #expect(finding.action == .planned)
        #expect(try outcome.changes()["status"] == String(apple))
        #expect(outcome.corrections[0].kinds.contains(.accessMissing))
        #expect(outcome.hasAllEvidence)
    }

    @Test(arguments: [(4, 1), (5, 1), (1, 1), (2, 4)])
    func `leaves other differences of status to other rules`(ours: Int, apple: Int) throws {
        let stated = Sample.stated(Sample.id, SubscriptionStatus(rawValue: apple))
        let row = Sample.row(of: stated) { $0.status = ours }
        let outcome = try outcome(row, beside: stated)
        #expect(!outcome.kinds.contains(.accessMissing))
    }
}
