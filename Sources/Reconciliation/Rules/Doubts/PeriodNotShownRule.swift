import Subscriptions

extension AllRules {
    /// A period of several transactions, of which every known one is revoked, leaves the row undecided
    /// where others may exist (`period_not_shown`).
    ///
    /// The purchaser of seats loses access only when every transaction of the period is revoked, and an
    /// answer need not show all of them. Apple's complete history does: it is read first, where the job
    /// may read it.
    static let periodNotShown = DoubtRule("PeriodNotShownRule") { comparison, _ in
        guard let period = comparison.period, period.isRevoked == nil else { return nil }
        return .undecided(.periodNotShown)
    }
}
