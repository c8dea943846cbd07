import Reconciliation
import Subscriptions
import Testing

@Suite struct `The change share guard` {
    private func stops(inScope: Int, changes: Int, _ limits: GuardLimits = GuardLimits()) -> Bool {
        let plan = GuardedPlan.plan(inScope: inScope, changes: changes)
        return limits.sentence(of: .maxChangeShare, about: plan) != nil
    }

    @Test func `stops at too large a share of the rows in scope`() {
        #expect(!stops(inScope: 100, changes: 5))
        #expect(stops(inScope: 100, changes: 6))
        #expect(stops(inScope: 0, changes: 6))
    }

    @Test func `a share of one is no limit, for a first fill inserts more than is in scope`() {
        let limits = GuardedPlan.limits {
            $0.maxChanges = 1_000_000
            $0.maxChangeShare = 1
        }
        #expect(!stops(inScope: 10, changes: 60, limits))
    }

    @Test func `spares a small plan`() {
        #expect(!stops(inScope: 4, changes: 4))
    }
}
