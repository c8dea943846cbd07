import Reconciliation
import Subscriptions
import Testing

@Suite struct `The verification guard` {
    private func stops(failures: Int) -> Bool {
        let plan = GuardedPlan.plan(inScope: 20, failures: failures)
        return GuardLimits().sentence(of: .maxVerificationFailures, about: plan) != nil
    }

    @Test func `stops at too many, however few rows`() {
        #expect(!stops(failures: 10))
        #expect(stops(failures: 11))
    }
}
