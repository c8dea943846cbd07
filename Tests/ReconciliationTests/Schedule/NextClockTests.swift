import Reconciliation
import Subscriptions
import Testing

@Suite struct `The next clock` {
    private func clock(
        _ status: SubscriptionStatus, notificationsFlow: Bool = true,
        at now: Timestamp = Sample.now,
        _ change: (inout StatedSubscription) -> Void = { _ in }
    ) -> Timestamp? {
        nextClock(
            of: Sample.stated(Sample.id, status, change), notificationsFlow: notificationsFlow,
            now: now)
    }

    @Test func `of an active subscription is the end of its paid period`() {
        #expect(clock(.active) == Sample.now(days: 20))
        #expect(clock(.active, notificationsFlow: false) == Sample.now(days: 20))
    }

    @Test func `of an active subscription looks at both ends that Apple states`() {
        let extended: (inout StatedSubscription) -> Void = {
            $0.transaction.expiresDate = Sample.now(days: -2)
            $0.renewal.renewalDate = Sample.now(days: 5)
        }
        #expect(clock(.active, extended) == Sample.now(days: 5))
        #expect(
            clock(.active) { $0.renewal.renewalDate = Sample.now(days: 25) } == Sample.now(days: 20)
        )
        #expect(clock(.active) { $0.transaction.expiresDate = nil } == Sample.now(days: 20))
        let endless: (inout StatedSubscription) -> Void = {
            $0.transaction.expiresDate = nil
            $0.renewal.renewalDate = nil
        }
        #expect(clock(.active, endless) == nil)
    }

    @Test func `is now where the end has passed`() {
        // Passed since the statement was signed, and passed before (a late renewal).
        #expect(clock(.active, at: Sample.now(days: 21)) == Sample.now(days: 21))
        let late: (inout StatedSubscription) -> Void = {
            $0.transaction.expiresDate = Sample.now(minutes: -10)
            $0.renewal.renewalDate = Sample.now(minutes: -10)
        }
        #expect(clock(.active, late) == Sample.now)
    }

    @Test func `of a grace period is its end`() {
        #expect(clock(.billingGracePeriod) == Sample.now(days: 14))
        #expect(clock(.billingGracePeriod, at: Sample.now(days: 15)) == Sample.now(days: 15))
        let dateless: (inout StatedSubscription) -> Void = {
            $0.renewal.gracePeriodExpiresDate = nil
        }
        #expect(clock(.billingGracePeriod, dateless) == Sample.now)
    }

    /// The moments of a billing retry, each taken from an answer that was signed at the one before.
    private func looks(
        notificationsFlow: Bool, _ change: (inout StatedSubscription) -> Void = { _ in }
    ) -> [Int64] {
        let expiry = Sample.now
        var days: [Int64] = []
        var signed = expiry.adding(milliseconds: 60_000)
        while days.count < 100 {
            let next = clock(.billingRetry, notificationsFlow: notificationsFlow, at: signed) {
                $0.transaction.expiresDate = expiry
                $0.transaction.signedDate = signed
                $0.renewal.signedDate = signed
                change(&$0)
            }
            guard let next else { break }
            days.append(next.milliseconds(since: expiry) / (24 * 60 * 60 * 1000))
            signed = next
        }
        return days
    }

    @Test func `of a billing retry is on seven days where notifications flow`() {
        #expect(looks(notificationsFlow: true) == [1, 3, 7, 14, 30, 45, 60])
        #expect(looks(notificationsFlow: true) { $0.transaction.expiresDate = nil }.count > 0)
    }

    @Test func `of a billing retry is daily where none flow, and ends with the 60 days`() {
        #expect(looks(notificationsFlow: false) == Array(1...60))
    }

    @Test func `of a billing retry is now where a day was passed over`() {
        // Signed on the fifth day; looked at on the eighth.
        #expect(clock(.billingRetry, at: Sample.now(days: 3)) == Sample.now(days: 3))
        #expect(clock(.billingRetry, at: Sample.now(days: 1)) == Sample.now(days: 2))
        // However long ago: one look at the end of the retry is still owed.
        #expect(clock(.billingRetry, at: Sample.now(days: 400)) == Sample.now(days: 400))
    }

    @Test func `of a billing retry without any date is a day away`() {
        let dateless: (inout StatedSubscription) -> Void = {
            $0.transaction.expiresDate = nil
            $0.renewal.renewalDate = nil
        }
        #expect(
            clock(.billingRetry, dateless)
                == Sample.now(milliseconds: -300).startOfDay(addingDays: 1))
    }

    @Test func `is none where only an event can change the word`() {
        #expect(clock(.expired) == nil)
        #expect(clock(.revoked) == nil)
        #expect(clock(SubscriptionStatus(rawValue: 6)) == nil)
        #expect(clock(.billingRetry) { $0.transaction.expiresDate = Sample.now(days: -61) } == nil)
    }

    @Test func `is never earlier than now, whatever the times are`() {
        let extremes: [Int64] = [.min, .min + 1, -1, 0, 1_795_144_624_000, .max - 1, .max]
        for status in 0...6 {
            for end in extremes {
                for signed in extremes {
                    for moment in extremes {
                        let now = Timestamp(unixMilliseconds: moment)
                        let next = clock(SubscriptionStatus(rawValue: status), at: now) {
                            $0.transaction.expiresDate = Timestamp(unixMilliseconds: end)
                            $0.renewal.renewalDate = nil
                            $0.renewal.gracePeriodExpiresDate = Timestamp(unixMilliseconds: end)
                            $0.transaction.signedDate = Timestamp(unixMilliseconds: signed)
                        }
                        #expect(next ?? now >= now)
                    }
                }
            }
        }
    }
}
