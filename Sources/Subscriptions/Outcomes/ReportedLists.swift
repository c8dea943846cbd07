/// A signed payload, or what is left of one.
package enum ReportedEvidence: Hashable, Sendable {
    case payload(SignedPayload)
    /// It was taken out on purpose: only that it was there is known.
    case erased(EvidenceTombstone)
}

/// What an erased payload leaves.
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
    /// The same of the renewal info.
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
    /// The status that was written on Apple's word; `nil` where none was.
    ///
    /// What takes an entry back restores what stood before, whatever Apple says.
    package var statedStatus: Int64? {
        guard undoOf == nil, case .integer(let status) = changes.ofSubscription[.status]?.after
        else { return nil }
        return status
    }
}

/// A row that was not judged.
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

/// A row that Apple did not find in this pass.
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
