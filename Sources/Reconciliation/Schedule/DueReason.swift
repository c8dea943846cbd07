package import Subscriptions

/// Why Apple must be asked about a row tonight, as far as the row and its last check say so; `nil`
/// for a quiet row.
///
/// What notifications and earlier runs owe stands on the agenda already; the sample is drawn from
/// the quiet rows. A row whose clock asks before its word reaches the allowed age is not swept.
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

/// The same, where a row of no configured app is due every night, whenever it was judged last.
///
/// Nobody is asked about it, but it is counted: whether such rows stop a night must not depend on
/// which of them a clock or the sample happens to name.
///
/// - Parameters:
///   - row: The row and its last check.
///   - ends: The last rows that tonight's sweep takes.
///   - request: How the night's questions are found.
///   - apps: The configured apps.
/// - Returns: `nil` for a quiet row of a configured app.
package func dueReason(
    of row: ScheduledRow, sweeping ends: SweepEnds, _ request: ScheduleRequest,
    apps: Set<AppIdentity>
) -> QuestionReason? {
    if let reason = dueReason(of: row, sweeping: ends, request) { return reason }
    guard let environment = AppStoreEnvironment(rawValue: row.key.environment) else {
        return .never
    }
    let app = AppIdentity(bundleID: row.key.bundleID, environment: environment)
    return apps.contains(app) ? nil : .never
}
