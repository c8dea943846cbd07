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
