import Reconciliation
import Subscriptions
import Testing

@Suite struct `The revocation missed rule` {
    @Test(arguments: [(1, 5), (4, 5)])
    func `reports and corrects it`(ours: Int, apple: Int) throws {
        let stated = Sample.stated(Sample.id, SubscriptionStatus(rawValue: apple))
        let row = Sample.row(of: stated) { $0.status = ours }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.verdict == .discrepancy)
        let finding = try outcome.finding(.revocationMissed)
        #expect(finding.severity == .high)
        #expect(finding.direction == .companyLoses)
        #expect(finding.field == "status")
        #expect(finding.localValue == .integer(Int64(ours)))
        #expect(finding.appleValue == .integer(Int64(apple)))
        #expect(finding.amount == 10_990)
        #expect(finding.currency == "EUR")
        #expect(finding.action == .planned)
        #expect(try outcome.changes()["status"] == String(apple))
        #expect(outcome.corrections[0].kinds.contains(.revocationMissed))
        #expect(outcome.hasAllEvidence)
    }

    @Test(arguments: [(2, 5), (3, 5), (5, 5), (1, 2)])
    func `leaves other differences of status to other rules`(ours: Int, apple: Int) throws {
        let stated = Sample.stated(Sample.id, SubscriptionStatus(rawValue: apple))
        let row = Sample.row(of: stated) { $0.status = ours }
        let outcome = try outcome(row, beside: stated)
        #expect(!outcome.kinds.contains(.revocationMissed))
    }

    @Test func `sets the revocation date without a finding of its own`() throws {
        let stated = Sample.stated(Sample.id, .revoked)
        let row = Sample.row(of: stated) {
            $0.status = 1
            $0.revocationDate = nil
        }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.kinds == [.revocationMissed])
        #expect(try outcome.changes()["revocation_date"] == Sample.now(days: -1).rfc3339)
    }
}
