import Reconciliation
import Subscriptions
import Testing

struct GuardLimitsTests {
    private func plan(
        inScope: Int = 10_000, changes: Int = 0, notFound: Int = 0, failures: Int = 0
    ) -> PlanTotals {
        var totals = RunTotals()
        totals.matched = inScope
        return PlanTotals(
            totals: totals, changes: changes, notFound: notFound, verificationFailures: failures)
    }

    private func breaches(_ plan: PlanTotals, _ limits: GuardLimits = GuardLimits()) -> [String] {
        limits.breaches(by: plan)
    }

    @Test func `lets a plan within every limit pass`() {
        #expect(breaches(plan(changes: 500, notFound: 100, failures: 10)).isEmpty)
    }

    @Test func `names both numbers of too many changes`() throws {
        let sentence = try #require(breaches(plan(inScope: 1_000_000, changes: 501)).first)
        #expect(sentence.contains("501"))
        #expect(sentence.contains("500"))
    }

    @Test func `stops at too large a share of the rows in scope`() {
        #expect(breaches(plan(inScope: 100, changes: 5)).isEmpty)
        #expect(breaches(plan(inScope: 100, changes: 6)).count == 1)
        #expect(breaches(plan(inScope: 0, changes: 6)).count == 1)
    }

    @Test func `a share of one is no limit, for a first fill inserts more than is in scope`() {
        let limits = GuardLimits(maxChanges: 1_000_000, maxChangeShare: 1)
        #expect(breaches(plan(inScope: 10, changes: 60), limits).isEmpty)
    }

    @Test func `never stops a run for fewer than the least number`() {
        #expect(breaches(plan(inScope: 4, changes: 4, notFound: 4)).isEmpty)
        let limits = GuardLimits(maxChanges: 2)
        #expect(breaches(plan(changes: 4), limits).isEmpty)
        #expect(breaches(plan(changes: 5), limits).count == 1)
    }

    @Test func `stops when Apple does not find a share of the rows`() {
        #expect(breaches(plan(inScope: 1_000, notFound: 10)).isEmpty)
        #expect(breaches(plan(inScope: 1_000, notFound: 11)).count == 1)
    }

    @Test func `stops at too many verification failures however few rows`() {
        #expect(breaches(plan(inScope: 20, failures: 10)).isEmpty)
        #expect(breaches(plan(inScope: 20, failures: 11)).count == 1)
    }

    @Test func `names every limit that is passed`() {
        #expect(breaches(plan(inScope: 1_000, changes: 900, notFound: 90, failures: 90)).count == 4)
    }
}
