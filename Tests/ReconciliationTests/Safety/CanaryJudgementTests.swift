import Reconciliation
import Subscriptions
import Testing

@Suite struct `The judgement on a canary` {
    private let key = SubscriptionKey(
        bundleID: "com.example.app", environment: "Production", originalTransactionID: "1")

    private func judgement(
        _ verdict: Verdict?, kinds: [FindingKind] = [], before: Set<FindingKind> = [.expiry],
        corrections: [PlannedCorrection] = []
    ) -> CanaryJudgement {
        var outcome = RowOutcome(key: key, verdict: verdict)
        outcome.findings = kinds.map {
            Finding(kind: $0, severity: .high, row: LocalSubscription(key: key))
        }
        outcome.corrections = corrections
        return CanaryJudgement(
            of: CanaryRow(key: key, kindsBefore: before), isHeld: true, outcome: outcome)
    }

    @Test func `a row that matches now agrees`() {
        #expect(judgement(.match) == .agrees)
    }

    @Test func `what may not be corrected and was there before does not count`() {
        #expect(judgement(.discrepancy, kinds: [.price], before: [.price, .expiry]) == .agrees)
        #expect(judgement(.discrepancy, kinds: [.price]) == .differs("price"))
    }

    @Test func `what would be corrected again was not fixed`() {
        let again = GuardedPlan.update(
            1, [.expiresDate: GuardedPlan.date(1) { $0 + 1 }, .status: GuardedPlan.status(1, 2)])
        #expect(
            judgement(.discrepancy, kinds: [.expiry], corrections: [again])
                == .differs("expires_date, status"))
    }

    @Test func `no verdict is never an agreement`() {
        #expect(judgement(.undecided(.unavailable)) == .undecided(.unavailable))
        #expect(judgement(.excluded(.inFlight)) == .undecided(.deadline))
        let row = CanaryRow(key: key, kindsBefore: [])
        #expect(CanaryJudgement(of: row, isHeld: true, outcome: nil) == .undecided(.deadline))
    }

    @Test func `a row that is gone differs`() {
        let row = CanaryRow(key: key, kindsBefore: [])
        #expect(
            CanaryJudgement(of: row, isHeld: false, outcome: RowOutcome(key: key, verdict: .match))
                == .differs("the row is gone"))
    }
}
