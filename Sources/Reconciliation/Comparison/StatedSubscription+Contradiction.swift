import Subscriptions

extension StatedSubscription {
    /// How far in the past the end of a subscription may be that Apple calls active or in grace.
    ///
    /// Apple may record a renewal, or the end of a grace period, late: delays of minutes are
    /// documented, and common in the sandbox.
    static let lateBookingToleranceMilliseconds: Int64 = 60 * 60 * 1000

    /// How far in the future the end may be of a subscription that is signed as in billing retry:
    /// Apple first charges within the 24 hours before the end.
    static let earlyChargeToleranceMilliseconds: Int64 = 24 * 60 * 60 * 1000

    /// How far in the future the end of an ended subscription may be: Apple's clocks differ a
    /// little.
    static let clockToleranceMilliseconds: Int64 = 60 * 1000

    /// The longest Billing Grace Period is 28 days; one day is added for time zones.
    static let longestGraceMilliseconds: Int64 = 29 * 24 * 60 * 60 * 1000

    /// Why the unsigned status contradicts the signed fields; `nil` when it does not.
    ///
    /// Only TLS protects the status, so it never ends access that the signed fields state, nor
    /// gives access that they deny (docs/promises.md). Where the fields allow both, the status
    /// decides: a prorated refund need not end the access, an upgraded transaction is superseded by
    /// another one, and Apple is known to state a grace period without its date or without the
    /// retry flag.
    ///
    /// Times are compared with the signing date and not with our clock, because that is the moment
    /// that status and fields describe. So neither a wrong clock nor a slow run makes a
    /// contradiction, and archived evidence is judged as on its day. Source: App Store Server API,
    /// `status`, and the signed fields that belong to each of its values.
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
        // A subscription with a reason for its expiration is not renewed late.
        if renewal.expirationIntent.map((1...5).contains) ?? false {
            return "active, but signed as expired"
        }
        return isPast(end, by: Self.lateBookingToleranceMilliseconds)
            ? "active, but signed as ended" : nil
    }

    /// Expired means that Apple no longer tries to charge, so a signed retry flag contradicts it,
    /// too.
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

    /// Apple is known to sign a false retry flag beside a grace date in the future; it does not
    /// count.
    private var isSignedAsInGrace: Bool {
        guard !transaction.isWhollyRevoked, let end = renewal.gracePeriodExpiresDate else {
            return false
        }
        return isAhead(end, by: 0)
    }

    /// Whether the signed transaction gives access until an end in the future.
    private func isSignedAsPaid(_ end: Timestamp?, by milliseconds: Int64) -> Bool {
        guard transaction.revocationDate == nil, !transaction.isUpgraded, let end else {
            return false
        }
        return isAhead(end, by: milliseconds)
    }

    /// The end of the paid period; an extension may move `renewalDate` and not `expiresDate`.
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
