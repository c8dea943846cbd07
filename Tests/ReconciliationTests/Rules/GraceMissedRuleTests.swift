import Reconciliation
import Subscriptions
import Testing

@Suite struct `The grace missed rule` {
    @Test(arguments: [(1, 4), (2, 4), (3, 4)])
    func `reports and corrects it`(ours: Int, apple: Int) throws {
        let stated = Sample.stated(Sample.id, SubscriptionStatus(rawValue: apple))
        let row = Sample.row(of: stated) { $0.status = ours }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.verdict == .discrepancy)
        let finding = try outcome.finding(.graceMissed)
        #expect(finding.severity == .critical)
        #expect(finding.direction == .customerLoses)
        #expect(finding.field == "status")
        #expect(finding.localValue == .integer(Int64(ours)))
        #expect(finding.appleValue == .integer(Int64(apple)))
        #expect(finding.amount == 10_990)
        #expect(finding.currency == "EUR")
        #expect(finding.action == .planned)
        #expect(try outcome.changes()["status"] == String(apple))
        #expect(outcome.corrections[0].kinds.contains(.graceMissed))
        #expect(outcome.hasAllEvidence)
    }

    @Test(arguments: [(5, 4), (4, 4), (4, 1), (1, 3)])
    func `leaves other differences of status to other rules`(ours: Int, apple: Int) throws {
        let stated = Sample.stated(Sample.id, SubscriptionStatus(rawValue: apple))
        let row = Sample.row(of: stated) { $0.status = ours }
        let outcome = try outcome(row, beside: stated)
        #expect(!outcome.kinds.contains(.graceMissed))
    }

    @Test(arguments: [-1, nil] as [Int64?])
    func `is critical when both are in grace and our date is earlier or empty`(
        days: Int64?
    ) throws {
        let stated = Sample.stated(Sample.id, .billingGracePeriod)
        let row = Sample.row(of: stated) {
            $0.gracePeriodExpiresDate = days.map { Sample.now(days: 14 + $0) }
        }
        let outcome = try outcome(row, beside: stated)
        let finding = try outcome.finding(.graceMissed)
        #expect(finding.severity == .critical)
        #expect(finding.direction == .customerLoses)
        #expect(finding.field == "grace_period_expires_date")
        #expect(finding.evidence == stated.renewal.evidence.digest)
        #expect(
            try outcome.changes()["grace_period_expires_date"] == Sample.now(days: 14).rfc3339)
    }

    @Test(arguments: [1, 2, 3, 5])
    func `is medium for a date outside of a grace period, which is cleared`(status: Int) throws {
        let stated = Sample.stated(Sample.id, SubscriptionStatus(rawValue: status))
        let row = Sample.row(of: stated) { $0.gracePeriodExpiresDate = Sample.now(days: -9) }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.kinds == [.graceMissed])
        #expect(try outcome.finding(.graceMissed).severity == .medium)
        #expect(try outcome.finding(.graceMissed).appleValue == .null)
        #expect(try Set(outcome.changes().keys) == ["grace_period_expires_date", "signed_date"])
    }

    @Test func `is medium when our grace date is later`() throws {
        let stated = Sample.stated(Sample.id, .billingGracePeriod)
        let row = Sample.row(of: stated) { $0.gracePeriodExpiresDate = Sample.now(days: 15) }
        let finding = try outcome(row, beside: stated).finding(.graceMissed)
        #expect(finding.severity == .medium)
        #expect(finding.direction == .companyLoses)
    }

    @Test func `holds access where Apple states a grace period without a date`() throws {
        let stated = Sample.stated(Sample.id, .billingGracePeriod) {
            $0.renewal.gracePeriodExpiresDate = nil
        }
        let row = Sample.row(of: stated) { $0.gracePeriodExpiresDate = Sample.now(days: 3) }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.verdict == .match)
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `keeps our grace date beside another correction where Apple states none`() throws {
        let stated = Sample.stated(Sample.id, .billingGracePeriod) {
            $0.renewal.gracePeriodExpiresDate = nil
        }
        let row = Sample.row(of: stated) {
            $0.gracePeriodExpiresDate = Sample.now(days: 3)
            $0.autoRenewStatus = 0
        }
        let outcome = try outcome(row, beside: stated)
        #expect(try Set(outcome.changes().keys) == ["auto_renew_status", "signed_date"])
    }

    @Test func `compares a grace date without milliseconds to the second`() throws {
        let stated = Sample.stated(Sample.id, .billingGracePeriod) {
            $0.renewal.gracePeriodExpiresDate = Sample.now(days: 14, milliseconds: 712)
        }
        let row = Sample.row(of: stated) { $0.gracePeriodExpiresDate = Sample.now(days: 14) }
        #expect(try outcome(row, beside: stated).verdict == .match)
    }

    @Test func `sets the grace date together with the status`() throws {
        let stated = Sample.stated(Sample.id, .billingGracePeriod)
        let row = Sample.row(of: stated) {
            $0.status = 1
            $0.gracePeriodExpiresDate = nil
        }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.kinds == [.graceMissed])
        #expect(
            try Set(outcome.changes().keys)
                == ["status", "grace_period_expires_date", "signed_date"])
    }
}
