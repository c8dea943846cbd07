import Reconciliation
import Subscriptions
import Testing

@Suite struct `An exclusion` {
    private func reason(_ signed: Timestamp?, settle: Int64 = 900_000) -> ExclusionReason? {
        exclusion(
            of: Sample.row { $0.signedDate = signed },
            policy: Sample.policy { $0.settleMilliseconds = settle })
    }

    @Test func `leaves out rows younger than the settle time`() {
        #expect(reason(Sample.now(minutes: -14)) == .inFlight)
        #expect(reason(Sample.now) == .inFlight)
        #expect(reason(Sample.now(minutes: -15)) == nil)
    }

    @Test func `does not take a future date, or none, for young`() {
        #expect(reason(Sample.now(minutes: 1)) == nil)
        #expect(reason(nil) == nil)
        #expect(reason(Sample.now, settle: 0) == nil)
        #expect(reason(Timestamp(unixMilliseconds: .min)) == nil)
    }

    @Test func `judges the settled rows of a customer beside a young one`() {
        let young = Sample.row(of: Sample.stated("3000")) {
            $0.signedDate = Sample.now(minutes: -1)
            $0.status = 2
        }
        let sibling = Sample.stated("3000") { $0.transaction.subscriptionGroupID = "second" }
        let item = Sample.item(Sample.row(), [Sample.stated(), sibling], held: [young])
        let outcomes = outcomes(of: item, policy: Sample.policy())
        #expect(outcomes.map(\.verdict) == [.match, .excluded(.inFlight)])
        #expect(outcomes[1].findings.isEmpty)
        #expect(outcomes[1].corrections.isEmpty)
    }
}
