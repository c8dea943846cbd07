import Subscriptions

/// A period of several transactions, of which every known one is revoked, leaves the row undecided
/// where others may exist (`period_not_shown`).
///
/// The purchaser of seats loses access only when every transaction of the period is revoked, and an
/// answer need not show all of them. Apple's complete history does: it is read first, where the job
/// may read it.
struct PeriodNotShownRule: DoubtRule {
    func doubt(in comparison: Comparison, policy: Policy) -> Doubt? {
        guard let period = comparison.period, period.isRevoked == nil else { return nil }
        return Doubt(reason: .periodNotShown, differences: [])
    }
}
