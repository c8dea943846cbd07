import Reconciliation
import Subscriptions
import Testing

@Suite struct `The not found guard` {
    private func stops(inScope: Int, notFound: Int) -> Bool {
        let plan = GuardedPlan.plan(inScope: inScope, notFound: notFound)
        return GuardLimits().sentence(of: .maxNotFoundShare, about: plan) != nil
    }

    @Test func `stops when Apple does not find a share of the rows`() {
        #expect(!stops(inScope: 1_000, notFound: 10))
        #expect(stops(inScope: 1_000, notFound: 11))
    }

    @Test func `spares a few`() {
        #expect(!stops(inScope: 4, notFound: 4))
    }
}
