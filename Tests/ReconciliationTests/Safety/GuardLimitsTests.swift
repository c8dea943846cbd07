import Reconciliation
import Subscriptions
import Testing

@Suite struct `The guard limits` {
    @Test func `lets a plan within every limit pass`() {
        let plan = GuardedPlan.plan(changes: 500, notFound: 100, failures: 10, before: 10_000)
        #expect(GuardLimits().breaches(by: plan).isEmpty)
    }

    @Test func `lets an empty plan pass on the first night`() {
        #expect(GuardLimits().breaches(by: GuardedPlan.plan(inScope: 0, tableRows: 0)).isEmpty)
    }

    @Test func `every limit that is passed is named, by its setting's name`() {
        let corrections = (1...900).map { id in
            GuardedPlan.update(
                id,
                [
                    .status: GuardedPlan.status(1, 2),
                    .expiresDate: GuardedPlan.date(id) { $0 / 1000 },
                ])
        }
        var plan = GuardedPlan.plan(
            inScope: 1_000, changes: 900, notFound: 90, failures: 90, tableRows: 1_000,
            before: 10_000, corrections)
        plan.totals.totals.excluded[.inFlight] = 100
        let names = GuardLimits().breaches(by: plan).map(\.name)
        // A program of the company's decides about one guard, and no limit.
        let limited = GuardName.liftable.filter { $0 != .afterPlan }
        #expect(Set(names) == Set(limited))
        #expect(names.count == limited.count)
        for breach in GuardLimits().breaches(by: plan) {
            #expect(breach.sentence.contains(breach.name.rawValue))
            #expect(breach.named.hasPrefix("guard \(breach.name.rawValue): "))
        }
    }
}
