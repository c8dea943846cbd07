import Reconciliation
import Subscriptions
import Testing

@Suite struct `The direction guard` {
    private func sentence(
        of rows: Int, from ours: Int?, to apple: Int, inScope: Int = 1_000,
        _ limits: GuardLimits = GuardedPlan.limits { $0.maxSameDirectionShare = 0.1 }
    ) -> String? {
        let corrections = (0..<rows).map {
            GuardedPlan.update($0, [.status: GuardedPlan.status(ours, apple)])
        }
        return limits.sentence(
            of: .maxSameDirectionShare, about: GuardedPlan.plan(inScope: inScope, corrections))
    }

    @Test(arguments: [(1, 2), (1, 3), (4, 2), (4, 5), (1, 5)])
    func `objects when access ends for more than a tenth`(ours: Int, apple: Int) throws {
        #expect(sentence(of: 100, from: ours, to: apple) == nil)
        let sentence = try #require(self.sentence(of: 101, from: ours, to: apple))
        #expect(sentence.contains("ends access for 101 of 1000"))
    }

    @Test(arguments: [(2, 1), (3, 4), (5, 1)])
    func `objects when access is given to more than a tenth`(ours: Int, apple: Int) throws {
        let sentence = try #require(self.sentence(of: 101, from: ours, to: apple))
        #expect(sentence.contains("grants access for 101 of 1000"))
    }

    @Test(arguments: [(1, 4), (4, 1), (2, 3), (3, 5)])
    func `a status that leaves access as it was has no direction`(ours: Int, apple: Int) {
        #expect(sentence(of: 1_000, from: ours, to: apple) == nil)
    }

    @Test func `rows that were not known yet, and inserts, have no direction`() {
        #expect(sentence(of: 1_000, from: nil, to: 1) == nil)
        let inserts = (0..<1_000).map {
            GuardedPlan.insert($0, [.status: GuardedPlan.status(nil, 1)])
        }
        #expect(
            GuardLimits().sentence(
                of: .maxSameDirectionShare, about: GuardedPlan.plan(inScope: 1_000, inserts)) == nil
        )
    }

    @Test(arguments: [true, false])
    func `a refund of a one-time purchase ends access, and its reversal grants it`(
        isRefund: Bool
    ) throws {
        let corrections = (0..<101).map { GuardedPlan.refund($0, isRefund: isRefund) }
        let sentence = try #require(
            GuardedPlan.limits { $0.maxSameDirectionShare = 0.1 }.sentence(
                of: .maxSameDirectionShare,
                about: GuardedPlan.plan(inScope: 1_000, purchases: 1_000, corrections)))
        #expect(
            sentence.contains(
                "\(isRefund ? "ends" : "grants") access by 101 of 1000 stored one-time purchases"))
    }

    @Test func `many purchases do not hide the end of many subscriptions, nor the other way round`()
    {
        let ended = (0..<60).map { GuardedPlan.update($0, [.status: GuardedPlan.status(1, 2)]) }
        let refunded = (0..<60).map { GuardedPlan.refund($0, isRefund: true) }
        func stops(_ plan: SurveyedPlan) -> Bool {
            GuardLimits().sentence(of: .maxSameDirectionShare, about: plan) != nil
        }
        #expect(stops(GuardedPlan.plan(inScope: 100, purchases: 1_000_000, ended)))
        #expect(stops(GuardedPlan.plan(inScope: 1_000_000, purchases: 100, refunded)))
        #expect(!stops(GuardedPlan.plan(inScope: 0, purchases: 1_000, refunded)))
    }

    @Test func `each direction is counted for itself`() {
        let both = (0..<160).map { id in
            GuardedPlan.update(
                id, [.status: id < 80 ? GuardedPlan.status(1, 2) : GuardedPlan.status(2, 1)])
        }
        #expect(
            GuardLimits().sentence(
                of: .maxSameDirectionShare, about: GuardedPlan.plan(inScope: 1_000, both)) == nil)
    }

    @Test(arguments: [(QuestionReason.sweep, true), (.sample, true), (.clock, false)])
    func `rows for which nothing spoke stand for the whole table`(
        because: QuestionReason, stops: Bool
    ) {
        let corrections = (0..<60).map {
            GuardedPlan.update($0, [.status: GuardedPlan.status(1, 2)])
        }
        let plan = GuardedPlan.plan(
            inScope: 490, coverage: 11_000, routine: RoutineRows(judged: 190, changed: 60),
            askedBecause: because, corrections)
        let sentence = GuardLimits().sentence(of: .maxSameDirectionShare, about: plan)
        #expect((sentence != nil) == stops)
        if stops { #expect(sentence?.contains("ends access for 60 of 190 rows") == true) }
    }

    @Test func `spares a small plan, and a share of one means no limit`() {
        #expect(sentence(of: 4, from: 1, to: 2, inScope: 4) == nil)
        #expect(sentence(of: 5, from: 1, to: 2, inScope: 5) != nil)
        let limits = GuardedPlan.limits { $0.maxSameDirectionShare = 1 }
        #expect(sentence(of: 1_000, from: 1, to: 2, limits) == nil)
    }
}
