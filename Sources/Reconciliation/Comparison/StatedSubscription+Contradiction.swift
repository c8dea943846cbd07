import Subscriptions

extension StatedSubscription {
    /// How far an end may lie in the past of an active subscription.
    ///
    /// Renewals come late by minutes, in the sandbox often; a day is far beyond that.
    static let lateRenewalToleranceMilliseconds: Int64 = 24 * 60 * 60 * 1000

    /// How far an end may lie in the future of a subscription whose payment failed.
    ///
    /// Apple tries to charge within the 24 hours before the end.
    static let earlyChargeToleranceMilliseconds: Int64 = 24 * 60 * 60 * 1000

    /// How far an end may lie in the future of an expired subscription: clocks of two machines.
    static let clockToleranceMilliseconds: Int64 = 60 * 60 * 1000

    /// Why the unsigned status cannot be true beside the signed fields; `nil` when it can.
    ///
    /// Times are measured from the signatures, not from our clock: a wrong clock of ours makes no
    /// contradiction, and archived evidence is judged as on its day. Source: App Store Server API,
    /// `status`, and the signed fields that go with each of its values.
    var contradiction: String? {
        switch status {
        case .active: activeContradiction
        case .expired: expiredContradiction
        case .billingRetry: retryContradiction
        case .billingGracePeriod: graceContradiction
        case .revoked: revokedContradiction
        default: nil
        }
    }

    /// An extension moves `renewalDate` and perhaps not `expiresDate`, so both must be past.
    private var activeContradiction: String? {
        if isWhollyRevoked { return "active, but signed as revoked" }
        guard let expires = transaction.expiresDate else { return nil }
        let end = max(expires, renewal.renewalDate ?? expires)
        return isPast(end, by: Self.lateRenewalToleranceMilliseconds)
            ? "active, but signed as ended" : nil
    }

    /// A revoked or upgraded transaction may end in the future; another one then counts.
    private var expiredContradiction: String? {
        guard transaction.revocationDate == nil, !transaction.isUpgraded,
            let expires = transaction.expiresDate
        else { return nil }
        return isAhead(expires, by: Self.clockToleranceMilliseconds)
            ? "expired, but signed as running" : nil
    }

    private var retryContradiction: String? {
        guard transaction.revocationDate == nil, !transaction.isUpgraded,
            let expires = transaction.expiresDate
        else { return nil }
        return isAhead(expires, by: Self.earlyChargeToleranceMilliseconds)
            ? "in billing retry, but signed as running" : nil
    }

    /// A null grace date, and a grace date without the retry flag, are known quirks of Apple's and
    /// contradict nothing; a period that runs on with neither of them does.
    private var graceContradiction: String? {
        if isWhollyRevoked { return "in grace period, but signed as revoked" }
        if let end = renewal.gracePeriodExpiresDate {
            return isPast(end, by: Self.lateRenewalToleranceMilliseconds)
                ? "in grace period, but signed as past it" : nil
        }
        guard renewal.isInBillingRetryPeriod != true, let expires = transaction.expiresDate else {
            return nil
        }
        return isAhead(expires, by: Self.earlyChargeToleranceMilliseconds)
            ? "in grace period, but signed as running" : nil
    }

    /// What ends a family member's access need not stand in the member's own transaction.
    private var revokedContradiction: String? {
        guard transaction.revocationDate == nil,
            transaction.inAppOwnershipType != "FAMILY_SHARED"
        else { return nil }
        return "revoked, but not signed as revoked"
    }

    /// A prorated refund gives a part of the money back and need not end the access.
    private var isWhollyRevoked: Bool {
        transaction.revocationDate != nil && transaction.revocationType != "REFUND_PRORATED"
    }

    private func isPast(_ end: Timestamp, by milliseconds: Int64) -> Bool {
        end.adding(milliseconds: milliseconds) < signedDate
    }

    private func isAhead(_ end: Timestamp, by milliseconds: Int64) -> Bool {
        end > max(transaction.signedDate, renewal.signedDate).adding(milliseconds: milliseconds)
    }
}
