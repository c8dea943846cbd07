import Subscriptions

/// How a date of ours stands to Apple's, where the same thing is dated.
struct DateDifference: Hashable, Sendable {
    enum Relation: Hashable, Sendable {
        /// Ours is Apple's divided by 1,000: seconds where milliseconds belong.
        case divided
        /// Ours is Apple's multiplied by 1,000: microseconds where milliseconds belong.
        case multiplied
        /// Ours is later (earlier when negative) by so many quarters of an hour, up to 14 hours.
        case quarterHours(Int)
        case other
    }

    let relation: Relation

    /// The first of the row's dates that a correction changes from one time to another.
    ///
    /// `nil` when it changes none, or may be about another period than the row was: a renewal moves
    /// dates rightly.
    init?(of correction: PlannedCorrection) {
        guard case .update(let key, _) = correction.target else { return nil }
        let changed = Self.dates.lazy.compactMap { Self.times(of: $0, in: correction) }.first
        guard let (ours, apple) = changed else { return nil }
        relation = Self.relation(of: ours, to: apple)
        switch relation {
        case .divided, .multiplied: break
        case .quarterHours, .other:
            guard Self.isAboutOnePeriod(correction, key.environment) else { return nil }
        }
    }

    private static let dates: [SubscriptionField] = [
        .expiresDate, .gracePeriodExpiresDate, .revocationDate,
    ]

    /// What names the period.
    private static let period: [SubscriptionField] = [
        .latestTransactionID, .webOrderLineItemID, .productID,
    ]

    private static let minutesPerQuarter: Int64 = 15

    private static func times(
        of field: SubscriptionField, in correction: PlannedCorrection
    ) -> (ours: Timestamp, apple: Timestamp)? {
        guard let change = correction.changes[field.rawValue], case .time(let ours) = change.before,
            case .time(let apple) = change.after
        else { return nil }
        return (ours, apple)
    }

    /// Whether nothing that names the period changes.
    ///
    /// An id that we did not hold contradicts nothing. In the sandbox that is not enough: a renewal
    /// there moves a date by minutes or by an hour, as a time zone would.
    private static func isAboutOnePeriod(
        _ correction: PlannedCorrection, _ environment: String
    ) -> Bool {
        let mayBeUnknown = environment == AppStoreEnvironment.production.rawValue
        return period.allSatisfy { field in
            guard let change = correction.changes[field.rawValue] else { return true }
            return mayBeUnknown && change.before == .null
        }
    }

    private static func relation(of ours: Timestamp, to apple: Timestamp) -> Relation {
        switch ValuePattern(ours: .time(ours), theirs: .time(apple)) {
        case .secondsForMilliseconds: .divided
        case .millisecondsForSeconds: .multiplied
        case .offset(let minutes): .quarterHours(Int(minutes / minutesPerQuarter))
        case .factor, nil: .other
        }
    }
}
