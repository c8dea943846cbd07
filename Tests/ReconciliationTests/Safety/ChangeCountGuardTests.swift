import Reconciliation
import Subscriptions
import Testing

@Suite struct `The change count guard` {
    @Test func `names both numbers of too many changes`() throws {
        let plan = GuardedPlan.plan(inScope: 1_000_000, changes: 501)
        let sentence = try #require(GuardLimits().sentence(of: .maxChanges, about: plan))
        #expect(sentence.contains("501"))
        #expect(sentence.contains("500"))
    }

    @Test func `never stops a run for fewer than the least number`() {
        let limits = GuardedPlan.limits { $0.maxChanges = 2 }
        #expect(limits.breaches(by: GuardedPlan.plan(changes: 4)).isEmpty)
        #expect(limits.breaches(by: GuardedPlan.plan(changes: 5)).map(\.name) == [.maxChanges])
    }
}
