import Subscriptions

/// A rule about our status against Apple's.
///
/// Of these only the first that fits speaks, in the order of `AllRules.status`.
protocol StatusRule: Rule {
    func difference(in comparison: Comparison) -> Difference?
}

extension Comparison {
    /// A finding about the status; the two dates that depend on it move with it.
    func statusDifference(
        _ kind: FindingKind, _ severity: Severity, direction: Direction, cause: String
    ) -> Difference {
        difference(
            kind, severity, in: .status, direction: direction, cause: cause,
            companions: [.revocationDate, .gracePeriodExpiresDate]
        ).stating(priceOf: stated.transaction)
    }
}
