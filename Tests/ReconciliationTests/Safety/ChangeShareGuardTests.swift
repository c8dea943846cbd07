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

    @Test func `a share of one means no limit, because a first fill inserts more than is in scope`()
    {
        let limits = GuardedPlan.limits {
            $0.maxChanges = 1_000_000
            $0.maxChangeShare = 1
        }
        #expect(!stops(inScope: 10, changes: 60, limits))
    }

    @Test func `spares a small plan`() {
        #expect(!stops(inScope: 4, changes: 4))
    }

    private func sentence(changes: Int, _ routine: RoutineRows) -> String? {
        GuardLimits().sentence(
            of: .maxChangeShare,
            about: GuardedPlan.plan(
                inScope: 490, changes: changes, coverage: 11_000, routine: routine))
    }

    @Test func `rows asked about because they changed are a share of the whole table`() {
        #expect(sentence(changes: 400, RoutineRows(judged: 60, changed: 0)) == nil)
        #expect(
            sentence(changes: 551, RoutineRows(judged: 60, changed: 0))?
                .contains("551 of 11000 rows covered") == true)
    }

    @Test func `unchanged rows that were checked represent those that were not checked`() {
        #expect(sentence(changes: 20, RoutineRows(judged: 200, changed: 10)) == nil)
        #expect(
            sentence(changes: 20, RoutineRows(judged: 200, changed: 11))?
                .contains("11 of 200 rows of the sweep and the sample") == true)
        #expect(sentence(changes: 4, RoutineRows(judged: 4, changed: 4)) == nil)
    }

    @Test func `one-time purchases have a share of their own`() {
        func sentence(_ plan: SurveyedPlan) -> String? {
            GuardLimits().sentence(of: .maxChangeShare, about: plan)
        }
        // A company that stores purchases alone.
        #expect(
            sentence(
                GuardedPlan.plan(inScope: 0, changes: 12, purchases: 600, purchaseChanges: 12))
                == nil)
        #expect(
            sentence(
                GuardedPlan.plan(inScope: 0, changes: 12, purchases: 60, purchaseChanges: 12))
                == "The plan changes 12 of 60 stored one-time purchases; max_change_share allows 0.05."
        )
        #expect(
            sentence(
                GuardedPlan.plan(
                    inScope: 100, changes: 52, purchases: 1_000_000, purchaseChanges: 12))
                == "The plan changes 40 of 100 rows in scope; max_change_share allows 0.05.")
    }
}
