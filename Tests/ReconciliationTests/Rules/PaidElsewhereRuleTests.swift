import Reconciliation
import Subscriptions
import Testing

@Suite struct `The paid elsewhere rule` {
    private func outcome(
        until days: Int64?, _ stated: StatedSubscription = Sample.stated(),
        _ change: (inout LocalSubscription) -> Void = { _ in }
    ) throws -> RowOutcome {
        let row = Sample.row(of: stated) {
            $0.paidElsewhereUntil = days.map { Sample.now(days: $0) }
            change(&$0)
        }
        return try ReconciliationTests.outcome(row, beside: stated)
    }

    @Test func `reports a customer who pays Apple and another source`() throws {
        let outcome = try outcome(until: 5)
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.kinds == [.overlappingSubscriptions])
        let finding = try outcome.finding(.overlappingSubscriptions)
        #expect(finding.severity == .medium)
        #expect(finding.field == "paid_elsewhere_until")
        #expect(finding.localValue == .time(Sample.now(days: 5)))
        #expect(finding.appleValue == .time(Sample.now(days: 20)))
        #expect(finding.direction == .customerLoses)
        #expect(finding.amount == 10_990)
        #expect(finding.action == .none)
        #expect(outcome.corrections.isEmpty)
        #expect(outcome.hasAllEvidence)
    }

    @Test func `is silent once the other payment is over, or where there is none`() throws {
        for days in [nil, -1] as [Int64?] {
            #expect(try outcome(until: days).verdict == .match)
        }
    }

    @Test func `is silent where Apple's subscription gives no access or costs nothing`() throws {
        let others = [
            Sample.stated(Sample.id, .expired), Sample.stated(Sample.id, .billingRetry),
            Sample.stated { $0.transaction.inAppOwnershipType = "FAMILY_SHARED" },
            Sample.stated { $0.transaction.isUpgraded = true },
        ]
        for stated in others {
            #expect(try outcome(until: 5, stated).kinds.isEmpty, "\(stated.status)")
        }
    }

    @Test func `looks at a row that is filled for the first time, and fills it`() throws {
        let row = LocalSubscription(key: Sample.row().key)
        let outcome = try outcome(until: 5) { [row] in
            let until = $0.paidElsewhereUntil
            $0 = row
            $0.paidElsewhereUntil = until
        }
        #expect(outcome.kinds == [.overlappingSubscriptions])
        #expect(outcome.corrections.count == 1)
        #expect(try outcome.changes()["paid_elsewhere_until"] == nil)
    }

    @Test func `has the row looked at again when the other payment ends`() throws {
        #expect(try outcome(until: 5).check?.clock == Sample.now(days: 5))
        let without = try outcome(until: nil).check?.clock
        #expect(try outcome(until: 900).check?.clock == without)
    }

    @Test func `a correction beside it is written all the same`() throws {
        let outcome = try outcome(until: 5) { $0.status = 2 }
        #expect(outcome.kinds == [.accessMissing, .overlappingSubscriptions])
        #expect(try outcome.changes()["status"] == "1")
    }
}
