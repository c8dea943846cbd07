/// A signed payload, or what is left of one.
package enum ReportedEvidence: Hashable, Sendable {
    case payload(SignedPayload)
    /// It was taken out on purpose: only that it was there is known.
    case erased(EvidenceTombstone)
}

/// The remains of an erased payload.
package struct EvidenceTombstone: Hashable, Sendable {
    package var digest: EvidenceDigest
    package var erasedAt: Timestamp
    /// `customer`, `retention`, or `lost` with the books.
    package var reason: String

    package init(digest: EvidenceDigest, erasedAt: Timestamp, reason: String) {
        self.digest = digest
        self.erasedAt = erasedAt
        self.reason = reason
    }
}

/// A written correction; where it states a status, with the two payloads that this follows from.
package struct ReportedCorrection: Hashable, Sendable {
    package var entry: LedgerEntry
    /// `nil` where it states no status, or nothing is left of the payload.
    package var transaction: ReportedEvidence?
    /// The evidence of the renewal info.
    package var renewal: ReportedEvidence?

    package init(
        entry: LedgerEntry, transaction: ReportedEvidence? = nil, renewal: ReportedEvidence? = nil
    ) {
        self.entry = entry
        self.transaction = transaction
        self.renewal = renewal
    }
}

extension LedgerEntry {
    /// Whether it adds a period and resolves no finding, which a first fill does several times an
    /// id.
    package var isPlainNewPeriod: Bool {
        changes.table == .transactions && action == .insert && kinds.isEmpty && undoOf == nil
    }

    /// The status that was written on Apple's statement; `nil` where none was.
    ///
    /// What takes an entry back restores what was before, whatever Apple says.
    package var statedStatus: Int64? {
        guard undoOf == nil, case .integer(let status) = changes.ofSubscription[.status]?.after
        else { return nil }
        return status
    }
}

/// An entitlement that changed since the report before.
package struct EntitlementChange: Hashable, Sendable {
    package var bundleID: String
    package var environment: String
    package var customerID: String
    package var entitlement: String
    /// Whether the customer had nothing of it before.
    package var isNew: Bool
    /// When access had ended before the change; `nil` for life, or where it is new.
    package var wasUntil: Timestamp?
    /// When access ends; `nil` for life.
    package var until: Timestamp?
    package var graceUntil: Timestamp?
    package var originalTransactionID: String
    package var productID: String
    package var willRenew: Bool?
    package var asOf: Timestamp?
    package var ownership: String?

    package init(
        bundleID: String, environment: String, customerID: String, entitlement: String, isNew: Bool,
        wasUntil: Timestamp?, until: Timestamp?, graceUntil: Timestamp?,
        originalTransactionID: String, productID: String, willRenew: Bool?, asOf: Timestamp?,
        ownership: String?
    ) {
        self.bundleID = bundleID
        self.environment = environment
        self.customerID = customerID
        self.entitlement = entitlement
        self.isNew = isNew
        self.wasUntil = wasUntil
        self.until = until
        self.graceUntil = graceUntil
        self.originalTransactionID = originalTransactionID
        self.productID = productID
        self.willRenew = willRenew
        self.asOf = asOf
        self.ownership = ownership
    }

    package enum Kind: String, Hashable, Sendable {
        case new, longer, shorter
        /// It ends when it did; something else of it changed.
        case same
    }

    /// Whether the end of access is new, later, earlier or the same.
    package var kind: Kind {
        if isNew { return .new }
        let (before, after) = (
            wasUntil?.unixMilliseconds ?? .max, until?.unixMilliseconds ?? .max
        )
        return before == after ? .same : before < after ? .longer : .shorter
    }
}

/// A purchase whose owner is not known, with one customer for whom something speaks.
///
/// The program never decides which customer it is.
package struct UnownedPurchase: Hashable, Sendable {
    package var bundleID: String
    package var environment: String
    package var originalTransactionID: String
    /// Of a one-time purchase; `nil` for a subscription.
    package var transactionID: String?
    package var productID: String?
    package var reason: Reason
    /// The customer as the row states it.
    package var customerID: String?
    package var appAccountToken: String?
    /// The token that Apple signed, where that is another one.
    package var appleAccountToken: String?
    /// The customer of other rows that have something in common with this one.
    package var speaksFor: String?
    package var because: Hint?
    /// The payload with Apple's token.
    package var evidence: EvidenceDigest?

    package init(
        bundleID: String, environment: String, originalTransactionID: String, reason: Reason
    ) {
        self.bundleID = bundleID
        self.environment = environment
        self.originalTransactionID = originalTransactionID
        self.reason = reason
    }

    package enum Reason: String, Hashable, Sendable, CaseIterable {
        /// Apple signed another token than the row has.
        case tokenChanged = "token_changed"
        /// The row has no account token.
        case noToken = "no_token"
        /// The row has a token, but no customer.
        case noCustomer = "no_customer"
    }

    /// A reason why something speaks for a customer.
    package enum Hint: String, Hashable, Sendable {
        /// A row of this customer has the same account token; of a changed token, Apple's.
        case sameToken = "same_token"
        /// Apple states the same Apple Account for a row of this customer.
        case sameAppleAccount = "same_apple_account"
    }
}

/// A row that was not checked.
package struct UndecidedRow: Hashable, Sendable {
    package var key: SubscriptionKey
    package var customerID: String?
    package var reason: UndecidedReason

    package init(key: SubscriptionKey, customerID: String?, reason: UndecidedReason) {
        self.key = key
        self.customerID = customerID
        self.reason = reason
    }
}

/// A row that Apple did not find in this checkpoint.
package struct NotFoundAccount: Hashable, Sendable {
    package var key: SubscriptionKey
    package var customerID: String?
    package var absence: AbsenceRecord
    /// Whether it was not found on enough distinct days.
    package var isConfirmed: Bool
    /// Our status of it.
    package var status: Int?
    /// When Apple last stated something that we hold about it.
    package var lastGoodAsOf: Timestamp?
    package var lastGoodEvidence: EvidenceDigest?

    package init(
        key: SubscriptionKey, customerID: String?, absence: AbsenceRecord, isConfirmed: Bool,
        status: Int?, lastGoodAsOf: Timestamp?, lastGoodEvidence: EvidenceDigest?
    ) {
        self.key = key
        self.customerID = customerID
        self.absence = absence
        self.isConfirmed = isConfirmed
        self.status = status
        self.lastGoodAsOf = lastGoodAsOf
        self.lastGoodEvidence = lastGoodEvidence
    }
}

/// One notification of Apple's history against the inbox.
package struct NotificationAudit: Hashable, Sendable {
    package var app: AppIdentity
    package var notificationUUID: String
    package var notificationType: String
    package var subtype: String?
    package var signedDate: Timestamp
    package var originalTransactionID: String?
    package var attempts: Int
    package var lastAttemptResult: String?
    /// `delivered`, `received`, `missed`, `lost`, `retrying`.
    package var verdict: String
    package var evidence: EvidenceDigest

    package init(
        app: AppIdentity, notificationUUID: String, notificationType: String, subtype: String?,
        signedDate: Timestamp, originalTransactionID: String?, attempts: Int,
        lastAttemptResult: String?, verdict: String, evidence: EvidenceDigest
    ) {
        self.app = app
        self.notificationUUID = notificationUUID
        self.notificationType = notificationType
        self.subtype = subtype
        self.signedDate = signedDate
        self.originalTransactionID = originalTransactionID
        self.attempts = attempts
        self.lastAttemptResult = lastAttemptResult
        self.verdict = verdict
        self.evidence = evidence
    }
}

/// The delivery of the notification that should have brought a change.
package enum Delivery: String, Hashable, Sendable, CaseIterable, Codable {
    /// Apple recorded SUCCESS, but the company's inbox does not hold it.
    case lostAfterSuccess = "lost_after_200"
    /// Apple recorded SUCCESS, but the row was not updated.
    case notApplied = "delivered_not_applied"
    /// Our endpoint answered with another status than 200 to 206.
    case refused
    /// Apple received no response from our endpoint.
    case unreached = "did_not_reach_us"
    /// Apple's history records no attempt yet.
    case notAttempted = "not_attempted"
    /// Delivered by a retry, or long after it was signed.
    case late
    /// An older notification arrived later and overwrote its values.
    case outOfOrder = "out_of_order"
    /// Apple's history covers the time of the change and has no notification of it.
    case neverSent = "never_sent"
    /// The row was written from a statement newer than the change: we changed it ourselves.
    case changedByUs = "changed_by_us"
    /// Apple's history does not show it.
    case unknown
}

/// The findings of one run and app that have the same cause, and what else they share.
package struct CauseCluster: Hashable, Sendable, Codable {
    package var bundleID: String
    package var environment: String
    /// The text that every finding of the cluster carries as its `cause`.
    package var cause: String
    /// `nil` for causes that no notification could have prevented.
    package var delivery: Delivery?
    /// `sendAttemptResult` as Apple spells it, where the cause is one.
    package var result: String?
    package var findings = 0
    /// Rows with a finding.
    ///
    /// Findings about notifications alone do not count here.
    package var rows = 0
    /// Corrections of these rows: written, or planned where nothing was written.
    package var corrections = 0
    /// How many of these rows have a correction; `nil` in what earlier versions stored.
    package var correctedRows: Int?
    /// Apple's notifications that should have prevented the findings.
    package var notifications = 0
    /// How many of these notifications Apple still tries to deliver.
    package var stillRetried = 0
    /// Findings by kind.
    package var kinds: [String: Int] = [:]
    /// Notifications by type and subtype (`DID_FAIL_TO_RENEW.GRACE_PERIOD`).
    package var notificationTypes: [String: Int] = [:]
    package var money: [MoneyTotal] = []
    /// The first and the last of the delivery attempts that the cause is about.
    package var firstAttempt: Timestamp?
    package var lastAttempt: Timestamp?
    /// The largest bursts of these attempts, in time order.
    package var bursts: [CauseBurst] = []
    /// The product that at least nine in ten findings name, where there are several findings.
    package var productID: String?
    /// The lowest original transaction id among them.
    package var example: String?
    /// On how many of the seven days before a run found the same cause.
    package var earlierDays = 0

    package init(
        bundleID: String, environment: String, cause: String, delivery: Delivery? = nil,
        result: String? = nil
    ) {
        self.bundleID = bundleID
        self.environment = environment
        self.cause = cause
        self.delivery = delivery
        self.result = result
    }
}

/// Delivery attempts close to each other; `start` and `end` are minutes, both included.
package struct CauseBurst: Hashable, Sendable, Codable {
    package var start: Timestamp
    package var end: Timestamp
    package var notifications: Int

    package init(start: Timestamp, end: Timestamp, notifications: Int) {
        self.start = start
        self.end = end
        self.notifications = notifications
    }
}

/// A finding of a checkpoint, with the data from which its cause is found.
package struct FindingToExplain: Hashable, Sendable {
    /// The position in the order of staging, in which findings of one row are adjacent.
    package var sequence: Int64
    package var finding: Finding
    /// The number of the correction of it, written or planned.
    package var correction: Int64?
    /// Whether its amount counts; `false` when a more severe finding has the same period.
    package var countsAmount = true
    /// The notifications of its subscription in Apple's history, newest first.
    package var notifications: [TracedNotification]

    package init(
        sequence: Int64, finding: Finding, correction: Int64?, notifications: [TracedNotification]
    ) {
        self.sequence = sequence
        self.finding = finding
        self.correction = correction
        self.notifications = notifications
    }
}
