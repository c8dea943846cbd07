import Reconciliation
import Subscriptions
import Testing

@Suite struct `The refund reversal missed rule` {
    @Test func `gives access back where a refund was only prorated`() throws {
        let stated = Sample.stated {
            $0.transaction.revocationDate = Sample.now(days: -1)
            $0.transaction.revocationType = "REFUND_PRORATED"
        }
        let row = Sample.row(of: stated) { $0.status = 5 }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.kinds == [.refundReversalMissed])
        #expect(try outcome.changes()["status"] == "1")
    }

    @Test(arguments: [(5, 1), (5, 4)])
    func `reports and corrects it`(ours: Int, apple: Int) throws {
        let stated = Sample.stated(Sample.id, SubscriptionStatus(rawValue: apple))
        let row = Sample.row(of: stated) { $0.status = ours }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.verdict == .discrepancy)
        let finding = try outcome.finding(.refundReversalMissed)
        #expect(finding.severity == .critical)
        #expect(finding.direction == .customerLoses)
        #expect(finding.field == "status")
        #expect(finding.localValue == .integer(Int64(ours)))
        #expect(finding.appleValue == .integer(Int64(apple)))
        #expect(finding.amount == 10_990)
        #expect(finding.currency == "EUR")
        #expect(finding.action == .planned)
        #expect(try outcome.changes()["status"] == String(apple))
        #expect(outcome.corrections[0].kinds.contains(.refundReversalMissed))
        #expect(outcome.hasAllEvidence)
    }

    @Test(arguments: [(5, 2), (5, 3), (5, 5), (2, 1), (1, 5)])
    func `leaves other differences of status to other rules`(ours: Int, apple: Int) throws {
        let stated = Sample.stated(Sample.id, SubscriptionStatus(rawValue: apple))
        let row = Sample.row(of: stated) { $0.status = ours }
        let outcome = try outcome(row, beside: stated)
        #expect(!outcome.kinds.contains(.refundReversalMissed))
    }

    @Test func `clears the revocation date`() throws {
        let stated = Sample.stated()
        let row = Sample.row(of: stated) {
            $0.status = 5
            $0.revocationDate = Sample.now(days: -3)
        }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.kinds == [.refundReversalMissed])
        #expect(try outcome.changes()["revocation_date"] == "")
    }
}
