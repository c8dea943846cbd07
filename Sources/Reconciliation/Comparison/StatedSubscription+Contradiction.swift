import Subscriptions

extension StatedSubscription {
    /// How far an end may lie in the past of what goes on.
    ///
    /// Apple may book a renewal, or the end of a grace period, late: lapses of minutes are
    /// documented, and common in the sandbox.
    static let lateBookingToleranceMilliseconds: Int64 = 60 * 60 * 1000

    /// How far an end may lie in the future of a subscription that is signed as in billing retry:
    /// Apple tries to charge within the 24 hours before the end.
    static let earlyChargeToleranceMilliseconds: Int64 = 24 * 60 * 60 * 1000

    /// How far an end may lie in the future of what has ended: the clocks of two of Apple's machines.
    static let clockToleranceMilliseconds: Int64 = 60 * 1000

    /// The longest Billing Grace Period that can be chosen is 28 days; a day more for time zones.
    static let longestGraceMilliseconds: Int64 = 29 * 24 * 60 * 60 * 1000

    /// Why the unsigned status cannot be true beside the signed fields; `nil` when it can.
    ///
    /// Only TLS protects the status, so it never takes away access that the signed fields state, nor
    /// gives what they deny (docs/promises.md). Where they leave it open the status decides: a
    /// prorated refund need not end the access, an upgraded transaction speaks of another one, and a
    /// grace period may come without its date or without the retry flag (quirks of Apple's).
    ///
    /// Times are held against the signatures, not against our clock: that is the instant of which
    /// status and fields speak together. A wrong clock of ours makes no contradiction, a slow run
    /// makes none, and archived evidence is judged as on its day. Source: App Store Server API,
    /// `status`, and the signed fields that go with each of its values.
    var contradiction: String? {
        switch status {
        case .active: activeContradiction
        case .expired: expiredContradiction
        case .billingRetry: retryContradiction
        case .billingGracePeriod: graceContradiction
        case .revoked:
            transaction.revocationDate == nil ? "revoked, but not signed as revoked" : nil
        default: nil
        }
    }

    private var activeContradiction: String? {
        if transaction.isWhollyRevoked { return "active, but signed as revoked" }
        guard !isSignedAsInGrace, !(end.map { isAhead($0, by: 0) } ?? false) else { return nil }
        if isSignedAsInRetry { return "active, but signed as in billing retry" }
        guard let end else { return nil }
        // Whoever cancelled is not renewed late.
        if renewal.expirationIntent.map((1...5).contains) ?? false {
            return "active, but signed as expired"
        }
        return isPast(end, by: Self.lateBookingToleranceMilliseconds)
            ? "active, but signed as ended" : nil
    }

    /// Expired says that Apple no longer tries to charge, so a signed retry flag denies it too.
    private var expiredContradiction: String? {
        if isSignedAsInRetry { return "expired, but signed as in billing retry" }
        if isSignedAsInGrace { return "expired, but signed as in its grace period" }
        return isSignedAsPaid(end, by: Self.clockToleranceMilliseconds)
            ? "expired, but signed as running" : nil
    }

    private var retryContradiction: String? {
        if isSignedAsInGrace { return "in billing retry, but signed as in its grace period" }
        let isRunning =
            isSignedAsInRetry
            ? isSignedAsPaid(transaction.expiresDate, by: Self.earlyChargeToleranceMilliseconds)
            : isSignedAsPaid(end, by: Self.clockToleranceMilliseconds)
        return isRunning ? "in billing retry, but signed as running" : nil
    }

    private var graceContradiction: String? {
        if transaction.isWhollyRevoked { return "in grace period, but signed as revoked" }
        if let graceEnd = renewal.gracePeriodExpiresDate {
            return isPast(graceEnd, by: Self.lateBookingToleranceMilliseconds)
                ? "in grace period, but signed as past it" : nil
        }
        guard isSignedAsInRetry else {
            return "in grace period, but signed neither with its end nor as in billing retry"
        }
        return (end.map { isPast($0, by: Self.longestGraceMilliseconds) } ?? false)
            ? "in grace period, but signed as ended longer ago than any lasts" : nil
    }

    private var isSignedAsInRetry: Bool { renewal.isInBillingRetryPeriod == true }

    /// A false retry flag beside a running grace date is a known quirk and denies nothing.
    private var isSignedAsInGrace: Bool {
        guard !transaction.isWhollyRevoked, let end = renewal.gracePeriodExpiresDate else {
            return false
        }
        return isAhead(end, by: 0)
    }

    /// Whether the signed transaction gives access until an end that is still to come.
    private func isSignedAsPaid(_ end: Timestamp?, by milliseconds: Int64) -> Bool {
        guard transaction.revocationDate == nil, !transaction.isUpgraded, let end else {
            return false
        }
        return isAhead(end, by: milliseconds)
    }

    /// The end of what was paid for; an extension moves `renewalDate` and perhaps not `expiresDate`.
    private var end: Timestamp? {
        [transaction.expiresDate, renewal.renewalDate].compactMap(\.self).max()
    }

    private func isPast(_ end: Timestamp, by milliseconds: Int64) -> Bool {
        end.adding(milliseconds: milliseconds) < signedDate
    }

    private func isAhead(_ end: Timestamp, by milliseconds: Int64) -> Bool {
        end > max(transaction.signedDate, renewal.signedDate).adding(milliseconds: milliseconds)
    }
}
