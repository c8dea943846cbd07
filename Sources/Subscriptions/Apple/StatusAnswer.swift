/// One answer of Get All Subscription Statuses, with everything signed in it verified.
///
/// It holds every subscription of one Apple Account in the app, in no particular order.
package struct StatusAnswer: Hashable, Sendable {
    package var subscriptions: [StatedSubscription]
    /// Entries that did not pass verification; nothing in them may be used.
    package var rejected: [RejectedStatement]
    /// Unknown fields of the unsigned envelope.
    package var unknowns: [UnknownValue]

    package init(
        subscriptions: [StatedSubscription], rejected: [RejectedStatement] = [],
        unknowns: [UnknownValue] = []
    ) {
        self.subscriptions = subscriptions
        self.rejected = rejected
        self.unknowns = unknowns
    }
}

/// Apple's statement about one subscription: an unsigned status, and two verified payloads that
/// name the same original transaction id as the unsigned entry around them.
package struct StatedSubscription: Hashable, Sendable {
    package var status: SubscriptionStatus
    package var subscriptionGroupID: String
    package var transaction: SignedTransaction
    package var renewal: SignedRenewal
    /// The seats of the current period, where several transactions represent it and all of them are
    /// known.
    package var sharedSeats: SeatCount?

    package init(
        status: SubscriptionStatus, subscriptionGroupID: String, transaction: SignedTransaction,
        renewal: SignedRenewal
    ) {
        self.status = status
        self.subscriptionGroupID = subscriptionGroupID
        self.transaction = transaction
        self.renewal = renewal
    }

    package var originalTransactionID: String { transaction.originalTransactionID }

    /// When Apple stated it: the earlier of the two signatures (docs/columns.md).
    package var signedDate: Timestamp { min(transaction.signedDate, renewal.signedDate) }

    /// The seats of the current period; `nil` where it is not a group's, or not all transactions of
    /// the period are known.
    package var seats: SeatCount? {
        transaction.sharesPeriod ? sharedSeats : transaction.ownSeats
    }

    /// The seats of the next period; `nil` where the subscription is not a group's.
    package var renewalSeats: Int64? {
        renewal.renewalQuantity.flatMap { number in
            number >= 0 && (transaction.seats != nil || number > 1) ? number : nil
        }
    }
}

/// Apple's status of an auto-renewable subscription, as its unsigned number.
///
/// Source: App Store Server API, `status`. A number that this version does not know is kept.
package struct SubscriptionStatus: Hashable, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    package static let active = SubscriptionStatus(rawValue: 1)
    package static let expired = SubscriptionStatus(rawValue: 2)
    package static let billingRetry = SubscriptionStatus(rawValue: 3)
    package static let billingGracePeriod = SubscriptionStatus(rawValue: 4)
    package static let revoked = SubscriptionStatus(rawValue: 5)

    package var isKnown: Bool { (1...5).contains(rawValue) }

    /// Whether the customer has access: active, or in the billing grace period.
    package var isEntitling: Bool { self == .active || self == .billingGracePeriod }
}

/// The signed fields that a subscription's status follows from.
///
/// Apple signs no status: its number is next to the two payloads. What it means is in them.
package struct SignedStatusFields: Hashable, Sendable {
    /// The later of the two signatures, with which the other times are compared.
    package var signedDate: Timestamp
    package var expiresDate: Timestamp?
    package var renewalDate: Timestamp?
    package var revocationDate: Timestamp?
    package var revocationType: String?
    package var isUpgraded = false
    package var isInBillingRetryPeriod: Bool?
    package var gracePeriodExpiresDate: Timestamp?

    package init(signedDate: Timestamp) {
        self.signedDate = signedDate
    }

    package var status: SubscriptionStatus { decision.status }

    /// Which field decides, in Apple's names.
    package var reason: String { decision.reason }

    /// Which status the fields give, and by which of them.
    ///
    /// The first that holds decides: a revocation, a grace period that continues, a failed charge, a
    /// paid time that continues; without any of them it has expired. Source: App Store Server API,
    /// `status`, and the signed fields that belong to each of its values; docs/report-files.md.
    private var decision: (status: SubscriptionStatus, reason: String) {
        // A prorated refund returns a part of the money and need not end the access.
        if revocationDate != nil, revocationType != "REFUND_PRORATED" {
            return (.revoked, "revocationDate is stated")
        }
        if let end = gracePeriodExpiresDate, end > signedDate {
            return (.billingGracePeriod, "gracePeriodExpiresDate is after signedDate")
        }
        if isInBillingRetryPeriod == true {
            return (.billingRetry, "isInBillingRetryPeriod is true")
        }
        if isUpgraded {
            return (.expired, "isUpgraded is true")
        }
        if let end = expiresDate, end > signedDate {
            return (.active, "expiresDate is after signedDate")
        }
        // An extension may move this one alone.
        if let end = renewalDate, end > signedDate {
            return (.active, "renewalDate is after signedDate")
        }
        return (.expired, "expiresDate is not after signedDate")
    }

    /// Returns why a row has this status, in one sentence with all of the fields.
    ///
    /// Where the fields allow more than one status, Apple's unsigned one decides
    /// (docs/promises.md), and the sentence says so.
    package func sentence(forStatus stated: Int64) -> String {
        let given = "\(reason) (\(values))"
        guard stated != Int64(status.rawValue) else { return "status \(stated): \(given)" }
        return "status \(stated) is Apple's unsigned word, which the signed fields do not "
            + "contradict; alone they give \(status.rawValue): \(given)"
    }

    private var values: String {
        named.map { "\($0.field) \($0.value ?? "none")" }.joined(separator: ", ")
    }

    private var named: [(field: String, value: String?)] {
        [
            ("signedDate", signedDate.rfc3339),
            ("expiresDate", expiresDate?.rfc3339),
            ("renewalDate", renewalDate?.rfc3339),
            ("revocationDate", revocationDate?.rfc3339),
            ("revocationType", revocationType),
            ("isUpgraded", String(isUpgraded)),
            ("isInBillingRetryPeriod", isInBillingRetryPeriod.map { String($0) }),
            ("gracePeriodExpiresDate", gracePeriodExpiresDate?.rfc3339),
        ]
    }

    /// The fields by Apple's names.
    package var fieldsJSON: CanonicalJSON {
        var fields = Dictionary(named.map { ($0.field, CanonicalJSON.text($0.value)) }) { $1 }
        fields["isUpgraded"] = .boolean(isUpgraded)
        fields["isInBillingRetryPeriod"] = isInBillingRetryPeriod.map { .boolean($0) } ?? .null
        return .object(fields)
    }
}

/// An entry of an answer that did not pass verification, and why.
package struct RejectedStatement: Error, Hashable, Sendable {
    /// The unsigned id next to the rejected payloads; `nil` where that is unusable as well.
    package var originalTransactionID: String?
    package var failure: VerificationFailure
    /// The rejected payload as received, for the auditor; bounded in size by the body limit.
    package var payload: SignedPayload?

    package init(
        originalTransactionID: String?, failure: VerificationFailure, payload: SignedPayload?
    ) {
        self.originalTransactionID = originalTransactionID
        self.failure = failure
        self.payload = payload
    }

    /// Whether the entry held nothing that could be verified, as opposed to failing verification.
    package var isUndecodable: Bool { payload == nil && failure.reason == .format }

    /// Whether verification failed: only that is a finding and counts as a failure.
    package var isInvalid: Bool { !isUndecodable && failure.verdict == .invalid }

    /// Whether verification could not be completed, so that the entry is neither good nor bad.
    package var isUndetermined: Bool { failure.verdict == .undetermined }
}

/// The reason why a signed payload is not accepted.
package struct VerificationFailure: Hashable, Sendable, Error, CustomStringConvertible {
    /// The reasons of runs and of `trueup inspect`, whose output names them by these texts.
    package enum Reason: String, Hashable, Sendable, CaseIterable {
        case format
        case chainLength = "chain_length"
        case certificate
        case chain
        case signature
        case app
        case environment
        /// Parts that are valid on their own name different subscriptions.
        case crossCheck = "cross_check"
        /// The text is not the one whose SHA-256 is next to it; only in `inspect`.
        case digest
        /// Undetermined: it could not be learned whether a certificate is revoked.
        case revocation
        /// Undetermined: nothing in the text is signed; only in `inspect`.
        case nothingSigned = "nothing_signed"

        /// The verdict about a payload that follows from the reason.
        package var verdict: VerificationVerdict {
            switch self {
            case .revocation, .nothingSigned: .undetermined
            case .format, .chainLength, .certificate, .chain, .signature, .app, .environment,
                .crossCheck, .digest:
                .invalid
            }
        }
    }

    package var reason: Reason
    /// A sentence for the person on call; it quotes no payload.
    package var detail: String
    /// The setting that the payload contradicts; `nil` where it fails for another reason.
    package var contradicted: ContradictedSetting?

    package init(reason: Reason, detail: String, contradicted: ContradictedSetting? = nil) {
        self.reason = reason
        self.detail = detail
        self.contradicted = contradicted
    }

    package var description: String { detail }

    package var verdict: VerificationVerdict { reason.verdict }
}

/// A setting of an app, and what an answer of Apple's states in its place.
package struct ContradictedSetting: Hashable, Sendable {
    /// As the settings file names it.
    package var name: String
    package var configured: String
    package var stated: String

    /// Keeps the stated value as text that is safe to show: anyone may have sent it.
    package init(_ name: String, configured: String, stated: String) {
        self.name = name
        self.configured = configured
        let shown = stated.unicodeScalars.filter {
            ![.control, .format, .lineSeparator, .paragraphSeparator]
                .contains($0.properties.generalCategory)
        }
        self.stated = String(String.UnicodeScalarView(shown.prefix(Self.longest)))
    }

    private static let longest = 160
}

/// The three possible results of verifying a signed payload.
package enum VerificationVerdict: String, Hashable, Sendable, CaseIterable {
    case valid, invalid
    /// Verification could not be completed: neither valid nor invalid.
    case undetermined
}

/// The result of one question to Apple.
///
/// A fault that concerns the whole run (a 401, a wrong bundle) is thrown as `RunStop` instead.
package enum Lookup<Answer: Sendable>: Sendable {
    case answered(Answer)
    /// 4040010 TransactionIdNotFound.
    case transactionNotFound
    /// 4040001 AccountNotFound.
    case accountNotFound
    /// Apple says that the id is malformed (4000006).
    case invalidID
    /// Apple refused the stored revision or page token (4000005, 4000014, 4000017): start over.
    case restart
    /// Another refusal of this question, with Apple's message.
    case refused(code: Int, httpStatus: Int, message: String)
    /// 5000000: the question is asked once more at the end of the run.
    case internalFault
    /// 429 again and again, until the attempts of this request were used up.
    case rateLimited
    /// All attempts failed, or the answer did not come from Apple; the text says how it failed.
    case unavailable(String)
    /// The answer cannot be read; the text says why.
    case undecodable(String)
    /// The whole answer is refused (its envelope names another app or environment).
    case unverified(RejectedStatement)
}

extension Lookup: Equatable where Answer: Equatable {}
extension Lookup: Hashable where Answer: Hashable {}

/// A fault that ends the asking about an app, or the whole run; it says nothing about any row.
package enum RunStop: Error, Hashable, Sendable {
    /// A 401 also with a new token; the text names the likely reason (exit 77).
    case denied(String)
    /// Apple does not know the configured app: 4000002, 4040003 (exit 78).
    case misconfigured(String)
    /// Waiting for the quota would pass the deadline (exit 75).
    case quotaWaitPastDeadline(until: Timestamp)
    /// The run's deadline passed before the question could be sent.
    case deadlineReached
    /// The run was cancelled while waiting.
    case cancelled
    /// Calls cannot be booked in the database that all workers share, so none may be made.
    case store(StoreError)
}

/// One page of Get Transaction History, with every transaction in it verified.
package struct HistoryPage: Hashable, Sendable {
    package var transactions: [SignedTransaction]
    package var rejected: [RejectedStatement] = []
    /// From which the next page, or a later run, continues.
    package var revision: String
    package var hasMore: Bool
    /// Unknown fields of the unsigned envelope.
    package var unknowns: [UnknownValue]

    package init(
        transactions: [SignedTransaction], revision: String, hasMore: Bool,
        unknowns: [UnknownValue] = []
    ) {
        self.transactions = transactions
        self.revision = revision
        self.hasMore = hasMore
        self.unknowns = unknowns
    }
}
