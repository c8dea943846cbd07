/// One finding as the core makes it; the store adds its identity and its history from run to run.
package struct Finding: Hashable, Sendable {
    package var kind: FindingKind
    package var severity: Severity
    /// The row that it concerns; `nil` only for findings that concern no subscription.
    package var key: SubscriptionKey?
    /// The app it belongs to (as text, so that a row of an unknown app can be named).
    package var bundleID: String
    package var environment: String
    package var transactionID: String?
    package var customerID: String?
    package var productID: String?
    /// The column that differs, or what tells findings of one kind apart (a notificationUUID).
    package var field: String?
    package var localValue = FieldValue.null
    package var appleValue = FieldValue.null
    package var localAsOf: Timestamp?
    package var appleAsOf: Timestamp?
    /// When the change that our row lacks happened at Apple; `nil` where no signed date says it.
    package var changedAt: Timestamp?
    package var direction = Direction.neutral
    /// Milliunits of `currency`.
    package var amount: Int64?
    package var currency: String?
    /// A short, constant text that says what probably went wrong; findings are grouped by it.
    package var cause: String?
    package var evidence: EvidenceDigest?
    /// The reason why Apple was asked about the subscription; `nil` where it was not asked.
    package var askedBecause: QuestionReason?
    package var action = FindingAction.none

    package init(kind: FindingKind, severity: Severity, bundleID: String, environment: String) {
        self.kind = kind
        self.severity = severity
        self.bundleID = bundleID
        self.environment = environment
    }

    /// A finding about a row, with the row's own values filled in.
    package init(kind: FindingKind, severity: Severity, row: LocalSubscription) {
        self.init(
            kind: kind, severity: severity, bundleID: row.key.bundleID,
            environment: row.key.environment)
        self.key = row.key
        self.transactionID = row.latestTransactionID
        self.customerID = row.customerID
        self.productID = row.productID
        self.localAsOf = row.signedDate
    }
}

extension Finding {
    /// The beginning of `field` where a finding without a subscription is about a payload of the
    /// notification history.
    package static let notificationFieldPrefix = "notification "
}

/// The party that a difference harms.
package enum Direction: String, Hashable, Sendable, CaseIterable, Codable {
    case customerLoses = "customer_loses"
    case companyLoses = "company_loses"
    case neutral
}

/// The action that was taken on a finding.
package enum FindingAction: String, Hashable, Sendable, CaseIterable {
    case none, planned, corrected, inserted, recovered, refused
}

/// Texts for `cause` that the check and the store share.
///
/// The first two say why a correction that a finding asks for is not written; the store may learn of it later.
extension Finding {
    /// Another row represents the subscription.
    package static let causeAliasRow = "a row is stored under one of its later transaction ids"

    /// The row gives access that Apple ended, and the subscription that gives access instead is not
    /// stored yet.
    package static func causeHeldBack(until originalTransactionID: String) -> String {
        "held back until \(originalTransactionID) is in the table"
    }

    /// Two subscriptions of a customer are paid for under different Apple Accounts.
    package static let causeTwoAccounts = "paid for under two Apple Accounts"
}

/// How a finding of this run relates to earlier runs.
package enum FindingState: String, Hashable, Sendable, CaseIterable {
    case new, open, corrected, recurring
    /// Acknowledged by a person, and unchanged since.
    case acknowledged
}

/// A finding as reported, with the id that it keeps from run to run.
package struct ReportedFinding: Hashable, Sendable {
    package var findingID: String
    package var runID: String
    package var state: FindingState
    package var firstSeen: Timestamp
    package var finding: Finding

    package init(
        findingID: String, runID: String, state: FindingState, firstSeen: Timestamp,
        finding: Finding
    ) {
        self.findingID = findingID
        self.runID = runID
        self.state = state
        self.firstSeen = firstSeen
        self.finding = finding
    }
}

/// A finding as trueup remembers it from run to run.
package struct RememberedFinding: Hashable, Sendable {
    package var findingID: String
    /// As text: a later version may have written a kind that this one does not know.
    package var kind: String
    package var severity: String
    package var bundleID: String
    package var environment: String
    /// `nil` where the finding is about an answer or a notification that names no subscription.
    package var originalTransactionID: String?
    package var firstSeen: Timestamp
    package var lastSeen: Timestamp
    /// The checkpoint that holds the finding as it was reported last.
    package var checkpoint: Int64
    /// The newest run that corrected it.
    package var correctedBy: Int64?
    /// `nil` once it is resolved.
    package var state: FindingState?

    package init(
        findingID: String, kind: String, severity: String, bundleID: String, environment: String,
        originalTransactionID: String?, firstSeen: Timestamp, lastSeen: Timestamp,
        checkpoint: Int64, correctedBy: Int64?, state: FindingState?
    ) {
        self.findingID = findingID
        self.kind = kind
        self.severity = severity
        self.bundleID = bundleID
        self.environment = environment
        self.originalTransactionID = originalTransactionID
        self.firstSeen = firstSeen
        self.lastSeen = lastSeen
        self.checkpoint = checkpoint
        self.correctedBy = correctedBy
        self.state = state
    }

    /// Whether reports continue listing it: it is neither corrected nor resolved.
    package var isOpen: Bool { state != nil && state != .corrected }

    /// Its state as the database and `explain` name it.
    package var stateName: String { state?.rawValue ?? "resolved" }
}

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
    case seats
    case identity
    case price
    case transactionMissing = "transaction_missing"
    case transactionUnknown = "transaction_unknown"
    case purchaseMissing = "purchase_missing"
    case purchaseRefundMissed = "purchase_refund_missed"
    case purchaseUnknown = "purchase_unknown"
    case notificationMissed = "notification_missed"
    case notificationLost = "notification_lost"
    case overlappingSubscriptions = "overlapping_subscriptions"
    case resurrected
    case verificationFailed = "verification_failed"
    case contradiction
    case unknownValue = "unknown_value"
    case unknownProduct = "unknown_product"
    case unreadableValue = "unreadable_value"
    case seatMember = "seat_member"
}

extension FindingKind {
    /// How much of a row must have been examined to show that a finding about it is resolved.
    package var neededExamination: ExaminationDepth { properties.examination }

    /// Whether the finding may rest on an answer that is wrong once: no verified statement about
    /// the row itself shows it.
    ///
    /// Its question stays pending: Apple is asked again in the next runs.
    package var mayBeWrongOnce: Bool { properties.mayBeWrongOnce }

    /// Whether a run that writes fixes it by Apple's answer about its row, unless its settings say
    /// otherwise.
    package var isFixedByAnswer: Bool { properties.isFixedByAnswer }

    /// All that is said of a kind, in one place.
    private var properties:
        (examination: ExaminationDepth, mayBeWrongOnce: Bool, isFixedByAnswer: Bool)
    {
        switch self {
        case .refundReversalMissed, .graceMissed, .revocationMissed, .accessMissing, .accessUnpaid,
            .status, .expiry, .product, .renewalPreference, .revocationDate, .latestTransaction,
            .ownership, .seats:
            (.statement, mayBeWrongOnce: false, isFixedByAnswer: true)
        case .transactionMissing: (.periods, mayBeWrongOnce: false, isFixedByAnswer: true)
        case .transactionUnknown, .price, .purchaseMissing, .purchaseRefundMissed,
            .purchaseUnknown:
            (.periods, mayBeWrongOnce: false, isFixedByAnswer: false)
        case .notFound, .accountNotFound, .invalidID, .wrongEnvironment, .wrongApp:
            (.standing, mayBeWrongOnce: true, isFixedByAnswer: false)
        case .migrated, .duplicateLocal, .unreadableValue, .seatMember:
            (.standing, mayBeWrongOnce: false, isFixedByAnswer: false)
        case .verificationFailed, .contradiction:
            (.statement, mayBeWrongOnce: true, isFixedByAnswer: false)
        case .missingLocally, .identity, .notificationMissed, .notificationLost,
            .overlappingSubscriptions, .resurrected, .unknownValue, .unknownProduct:
            (.statement, mayBeWrongOnce: false, isFixedByAnswer: false)
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
