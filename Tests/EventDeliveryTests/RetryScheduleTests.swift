import EventDelivery
import Subscriptions
import Testing

@Suite struct `The retry schedule` {
    private static let now = Timestamp(unixMilliseconds: 1_795_000_000_000)

    private func minutes(_ failures: Int, retryAfter: Duration? = nil) -> Int64? {
        RetrySchedule.nextAttempt(afterFailures: failures, at: Self.now, retryAfter: retryAfter)
            .map { $0.milliseconds(since: Self.now) / 60_000 }
    }

    @Test func `waits 5, 10, 20, 40 and 80 minutes, and then no more`() {
        #expect((1...7).map { minutes($0) } == [5, 10, 20, 40, 80, nil, nil])
        #expect(RetrySchedule.maximumAttempts == 6)
    }

    @Test func `never waits as long as only a wrong clock would`() {
        let longest = max(RetrySchedule.delaysMinutes.max() ?? 0, 60)
        #expect(longest * 60_000 < OutboxEvent.farthestAttemptMilliseconds)
    }

    @Test func `waits longer where the receiver asks for it, never less long`() {
        #expect(minutes(1, retryAfter: .seconds(1800)) == 30)
        #expect(minutes(3, retryAfter: .seconds(1)) == 20)
        #expect(minutes(6, retryAfter: .seconds(1800)) == nil)
    }
}
