package import Subscriptions

/// The next moment at which Apple's signed word about a subscription ends by itself, so that Apple
/// must be asked again.
///
/// | Apple's word | ends |
/// |---|---|
/// | active | with the paid period |
/// | in the billing grace period | with it; with the paid period where Apple states no date |
/// | in billing retry | never by a date: looked at on `retryDaysWithNotifications`, or daily |
/// | expired, revoked, any other | never by itself |
///
/// A commitment (twelve months billed monthly) ends on one of these ends, so it needs no clock of
/// its own. Source: App Store Server API, `status`, `expiresDate`, `renewalDate` and
/// `gracePeriodExpiresDate`; StoreKit for the 60 days of billing retry.
///
/// - Parameters:
///   - stated: Apple's statement; it holds for the moment at which it was signed.
///   - notificationsFlow: Whether Apple's notification history tells what happens. Where it does,
///     the looks at a billing retry only make sure that nothing was left out.
///   - now: The time of the judgement.
/// - Returns: The moment; `now` itself where it has passed already, never an earlier one. `nil`
///   where only an event can change the word.
package func nextClock(
    of stated: StatedSubscription, notificationsFlow: Bool, now: Timestamp
) -> Timestamp? {
    let ends = [stated.transaction.expiresDate, stated.renewal.renewalDate].compactMap(\.self)
    switch stated.status {
    case .active: return nextEnd(of: ends, after: stated.signedDate, now: now)
    case .billingGracePeriod:
        let graceEnds = stated.renewal.gracePeriodExpiresDate.map { [$0] }
        return nextEnd(of: graceEnds ?? ends, after: stated.signedDate, now: now)
    case .billingRetry:
        let days = notificationsFlow ? retryDaysWithNotifications : Array(1...lastRetryDay)
        guard let expiry = stated.transaction.expiresDate ?? stated.renewal.renewalDate else {
            return max(now, stated.signedDate.adding(milliseconds: Milliseconds.perDay))
        }
        let next = days.lazy.map { expiry.adding(milliseconds: $0 * Milliseconds.perDay) }
            .first { $0 > stated.signedDate }
        return next.map { max(now, $0) }
    default: return nil
    }
}

/// Days after the expiry on which a billing retry is looked at where notifications flow.
private let retryDaysWithNotifications: [Int64] = [1, 3, 7, 14, 30, 45, lastRetryDay]

/// Apple retries for up to 60 days, the grace period included; the look at their end is the last.
private let lastRetryDay: Int64 = 60

/// The first of these ends that was still ahead when the statement was signed; `now` where all had
/// passed, because Apple may record a renewal late.
///
/// An extension may move `renewalDate` and not `expiresDate`, so the later one counts, too.
private func nextEnd(of ends: [Timestamp], after signed: Timestamp, now: Timestamp) -> Timestamp? {
    guard !ends.isEmpty else { return nil }
    return max(now, ends.filter { $0 > signed }.min() ?? now)
}
