package import Subscriptions

/// Returns why this run must check a row, as far as the row and its last check say so; `nil` for an
/// unchanged row.
///
/// The pending checks of notifications and earlier runs are on the queue already; the sample is
/// drawn from the unchanged rows. A row whose clock asks before its statement reaches the allowed
/// age is not swept.
package func dueReason(
    of row: ScheduledRow, sweeping ends: SweepEnds, _ request: ScheduleRequest
) -> QuestionReason? {
    guard let record = row.check else { return .never }
    if record.check.values != row.values { return .changed }
    let clock = record.check.clock
    if let clock, clock <= request.now { return .clock }
    let age = request.allowedAge(isLasting: record.check.isLasting)
    if let clock, clock <= record.asOf.adding(milliseconds: age) { return nil }
    let last = record.check.isLasting ? ends.lasting : ends.ended
    if let last, SweepPlace(asOf: record.asOf, key: row.key) <= last { return .sweep }
    return nil
}

/// Returns why this run must check a row, where a row of no configured app is due in every run.
///
/// Apple is not asked about it, but it is counted: whether such rows stop a day must not depend on
/// which of them a clock or the sample happens to name.
///
/// - Parameters:
///   - row: The row and its last check.
///   - ends: The last rows that this run's sweep takes.
///   - request: How the day's questions are found.
///   - apps: The configured apps.
/// - Returns: `nil` for a unchanged row of a configured app.
package func dueReason(
    of row: ScheduledRow, sweeping ends: SweepEnds, _ request: ScheduleRequest,
    apps: Set<AppIdentity>
) -> QuestionReason? {
    if let reason = dueReason(of: row, sweeping: ends, request) { return reason }
    let app = AppIdentity(bundleID: row.key.bundleID, environment: row.key.environment)
    return app.map(apps.contains) == true ? nil : .never
}

/// The next moment at which Apple's signed statement about a subscription ends by itself, so that
/// Apple must be asked again.
///
/// | Apple's statement | ends |
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
///   - now: The time of the check.
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
            return max(now, stated.signedDate.startOfDay(addingDays: 1))
        }
        let next = days.lazy.map { expiry.adding(milliseconds: $0 * Milliseconds.perDay) }
            .first { $0 > stated.signedDate }
        return next.map { max(now, $0) }
    default: return nil
    }
}

/// Days after the expiry on which a billing retry is checked where notifications flow.
private let retryDaysWithNotifications: [Int64] = [1, 3, 7, 14, 30, 45, lastRetryDay]

/// Apple retries for up to 60 days, the grace period included; the look at their end is the last.
private let lastRetryDay: Int64 = 60

/// The first of these ends that was still ahead when the statement was signed; `now` where all had
/// passed, because Apple may record a renewal late.
///
/// An extension may move `renewalDate` and not `expiresDate`, so the later one counts as well.
private func nextEnd(of ends: [Timestamp], after signed: Timestamp, now: Timestamp) -> Timestamp? {
    guard !ends.isEmpty else { return nil }
    return max(now, ends.filter { $0 > signed }.min() ?? now)
}

/// How many rows to sweep in this run, so that every row is asked before its deadline and no later
/// run has to ask more.
///
/// Of the rows that are due within *h* days, an even spread asks one part in *h* each day. The
/// largest of these parts, rounded up, is the smallest number that is enough on all days when the
/// earliest deadline is always asked first. With no new rows it does not grow from run to run.
///
/// - Parameter rowsByDaysLeft: The number of rows by the days on which they may be asked, this one
///   counted. Overdue rows count as zero days (as does any negative number), and are due in this run
///   like those with one day left. Numbers of rows below zero count as none.
/// - Returns: The number of rows for in this run; `Int.max` where their sum exceeds it.
package func sweepLevel(rowsByDaysLeft: [Int: Int]) -> Int {
    var due = 0
    var level = 0
    for (daysLeft, rows) in rowsByDaysLeft.sorted(by: { $0.key < $1.key }) where rows > 0 {
        let (sum, overflow) = due.addingReportingOverflow(rows)
        due = overflow ? .max : sum
        let nights = max(1, daysLeft)
        let (whole, rest) = due.quotientAndRemainder(dividingBy: nights)
        // One day leaves no rest, so adding one cannot overflow.
        level = max(level, rest == 0 ? whole : whole + 1)
    }
    return level
}
