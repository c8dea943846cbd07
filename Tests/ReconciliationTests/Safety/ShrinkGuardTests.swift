import Reconciliation
import Subscriptions
import Testing

@Suite struct `The shrink guard` {
    private func sentence(
        _ rows: Int, before: Int?, _ limits: GuardLimits = GuardLimits()
    ) -> String? {
        let plan = GuardedPlan.plan(inScope: rows, tableRows: rows, before: before)
        return limits.sentence(of: .maxShrinkShare, about: plan)
    }

    @Test func `objects to a table that lost nine tenths, though nothing is planned`() throws {
        let sentence = try #require(self.sentence(100, before: 1_000))
        #expect(sentence.contains("100") && sentence.contains("1000"))
        #expect(sentence.contains("900 are gone"))
    }

    @Test func `an emptied table has shrunk too`() {
        #expect(sentence(0, before: 1_000) != nil)
    }

    @Test func `a table that keeps its half, or grows, may go on`() {
        #expect(sentence(500, before: 1_000) == nil)
        #expect(sentence(499, before: 1_000) != nil)
        #expect(sentence(5_000, before: 1_000) == nil)
    }

    @Test func `the first run has nothing to compare with`() {
        #expect(sentence(0, before: nil) == nil)
    }

    @Test func `a handful of rows raises no alarm`() {
        #expect(sentence(0, before: 4) == nil)
        #expect(sentence(0, before: 5) != nil)
    }

    @Test func `a share of one means no limit`() {
        #expect(sentence(0, before: 1_000, GuardedPlan.limits { $0.maxShrinkShare = 1 }) == nil)
    }
}
