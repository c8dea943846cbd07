/// Every kind of finding, as named in the reports (docs/findings.md).
///
/// Names stay for ever.
package enum FindingKind: String, Hashable, Sendable, CaseIterable {
    case missingLocally = "missing_locally"
    case notFound = "not_found"
    case accountNotFound = "account_not_found"
    case invalidID = "invalid_id"
    case migrated
    case wrongEnvironment = "wrong_environment"
    case wrongApp = "wrong_app"
    case duplicateLocal = "duplicate_local"
    case refundReversalMissed = "refund_reversal_missed"
    case graceMissed = "grace_missed"
    case revocationMissed = "revocation_missed"
    case accessMissing = "access_missing"
    case accessUnpaid = "access_unpaid"
    case status
    case expiry
    case product
    case renewalPreference = "renewal_preference"
    case revocationDate = "revocation_date"
    case latestTransaction = "latest_transaction"
    case ownership
    case identity
    case price
    case transactionMissing = "transaction_missing"
    case transactionUnknown = "transaction_unknown"
    case notificationMissed = "notification_missed"
    case notificationLost = "notification_lost"
    case overlappingSubscriptions = "overlapping_subscriptions"
    case resurrected
    case verificationFailed = "verification_failed"
    case contradiction
    case unknownValue = "unknown_value"
    case unreadableValue = "unreadable_value"
}

extension FindingKind {
    /// How much of a row must have been examined to show that a finding about it is resolved.
    package var neededLook: LookDepth {
        switch self {
        case .transactionMissing, .transactionUnknown, .price: .periods
        case .notFound, .accountNotFound, .invalidID, .migrated, .wrongEnvironment, .wrongApp,
            .duplicateLocal, .unreadableValue:
            .standing
        case .missingLocally, .refundReversalMissed, .graceMissed, .revocationMissed,
            .accessMissing, .accessUnpaid, .status, .expiry, .product, .renewalPreference,
            .revocationDate, .latestTransaction, .ownership, .identity, .notificationMissed,
            .notificationLost, .overlappingSubscriptions, .resurrected, .verificationFailed,
            .contradiction, .unknownValue:
            .statement
        }
    }
}

extension FindingKind {
    /// Whether the finding may rest on an answer that is wrong once: no verified statement about the
    /// row itself shows it.
    ///
    /// Its question stays pending: Apple is asked again in the next runs.
    package var mayBeWrongOnce: Bool {
        switch self {
        case .notFound, .accountNotFound, .invalidID, .wrongEnvironment, .wrongApp,
            .verificationFailed, .contradiction:
            true
        case .missingLocally, .migrated, .duplicateLocal, .refundReversalMissed, .graceMissed,
            .revocationMissed, .accessMissing, .accessUnpaid, .status, .expiry, .product,
            .renewalPreference, .revocationDate, .latestTransaction, .ownership, .identity, .price,
            .transactionMissing, .transactionUnknown, .notificationMissed, .notificationLost,
            .overlappingSubscriptions, .resurrected, .unknownValue, .unreadableValue:
            false
        }
    }
}

extension FindingKind {
    /// Whether a run that writes mends it by Apple's answer about its row, unless its settings say
    /// otherwise.
    package var isMendedByAnswer: Bool {
        switch self {
        case .refundReversalMissed, .graceMissed, .revocationMissed, .accessMissing, .accessUnpaid,
            .status, .expiry, .product, .renewalPreference, .revocationDate, .latestTransaction,
            .ownership, .transactionMissing:
            true
        case .missingLocally, .notFound, .accountNotFound, .invalidID, .migrated,
            .wrongEnvironment, .wrongApp, .duplicateLocal, .identity, .price, .transactionUnknown,
            .notificationMissed, .notificationLost, .overlappingSubscriptions, .resurrected,
            .verificationFailed, .contradiction, .unknownValue, .unreadableValue:
            false
        }
    }
}

/// How much a finding matters, least first.
package enum Severity: String, Hashable, Sendable, CaseIterable, Comparable {
    case info, low, medium, high, critical

    private var rank: Int {
        switch self {
        case .info: 0
        case .low: 1
        case .medium: 2
        case .high: 3
        case .critical: 4
        }
    }

    package static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }
}
