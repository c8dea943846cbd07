import Subscriptions
import Testing

@Suite struct `The next question` {
    private static let now = Timestamp(unixMilliseconds: 1_790_000_000_000)
    private static let key = SubscriptionKey(
        app: AppIdentity(bundleID: "com.example.app", environment: .production),
        originalTransactionID: "1")

    private func explanation(clock: Timestamp? = nil) -> SubscriptionExplanation {
        let row = LocalSubscription(key: Self.key)
        var explanation = SubscriptionExplanation(key: Self.key)
        explanation.row = row
        explanation.check = CheckRecord(
            check: RowCheck(
                signedDate: Self.now, clock: clock, isLasting: true,
                values: ValuesDigest(of: row)),
            askedAt: Self.now)
        return explanation
    }

    @Test func `follows from what is owed, then from the row, then from its clock`() throws {
        var explanation = explanation()
        let first = try #require(explanation.nextQuestion(at: Self.now))
        #expect(first.reason == nil && first.from == nil)
        explanation.row?.productID = "other"
        #expect(explanation.nextQuestion(at: Self.now)?.reason == .changed)
        explanation.check = nil
        #expect(explanation.nextQuestion(at: Self.now)?.reason == .never)
        explanation.pending = PendingQuestion(
            reason: .heldBack, since: Self.now, restsOn: nil, attempts: 1)
        #expect(explanation.nextQuestion(at: Self.now)?.reason == .heldBack)
    }

    @Test func `waits for the clock only as long as it runs`() {
        let clock = Self.now.adding(milliseconds: 1)
        let waiting = explanation(clock: clock)
        #expect(waiting.nextQuestion(at: Self.now)?.from == clock)
        #expect(waiting.nextQuestion(at: clock)?.from == nil)
        #expect(waiting.nextQuestion(at: clock)?.reason == .clock)
    }

    @Test func `is not there without a row`() {
        #expect(SubscriptionExplanation(key: Self.key).nextQuestion(at: Self.now) == nil)
    }
}
