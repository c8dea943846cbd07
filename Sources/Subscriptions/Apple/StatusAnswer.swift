/// One answer of Get All Subscription Statuses, after verification of everything signed in it.
///
/// It holds every subscription of one Apple Account in the app, in no particular order.
package struct StatusAnswer: Hashable, Sendable {
    package var subscriptions: [StatedSubscription]
    /// Entries whose signed parts did not hold; nothing in them may be believed.
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

/// Apple's statement about one subscription: an unsigned status and two verified payloads that
/// name the same original transaction id as the unsigned entry around them.
package struct StatedSubscription: Hashable, Sendable {
    package var status: SubscriptionStatus
    package var subscriptionGroupID: String
    package var transaction: SignedTransaction
    package var renewal: SignedRenewal

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
}

/// An entry of an answer that must not be believed, and why.
package struct RejectedStatement: Hashable, Sendable {
    /// The unsigned id around the rejected payloads; `nil` where even that was unusable.
    package var originalTransactionID: String?
    package var failure: VerificationFailure
    /// The offending payload as received, for the auditor; bounded in size by the body limit.
    package var payload: SignedPayload?

    package init(
        originalTransactionID: String?, failure: VerificationFailure, payload: SignedPayload?
    ) {
        self.originalTransactionID = originalTransactionID
        self.failure = failure
        self.payload = payload
    }

    /// Whether the entry lacked what could be verified at all, rather than failed to verify.
    package var isUndecodable: Bool { payload == nil && failure.reason == .format }

    /// Whether something speaks against the entry: only that is a finding, and counts as a failure.
    package var isInvalid: Bool { !isUndecodable && failure.verdict == .invalid }

    /// Whether nothing speaks against the entry, and yet it must not be believed.
    package var isUndetermined: Bool { failure.verdict == .undetermined }
}

/// Why a signed payload was refused.
///
/// The reasons are those of `trueup inspect`.
package struct VerificationFailure: Hashable, Sendable, Error, CustomStringConvertible {
    package enum Reason: String, Hashable, Sendable, CaseIterable {
        case format
        case chainLength = "chain_length"
        case certificate
        case chain
        case signature
        case app
        case environment
        /// Verified parts contradict each other: other ids inside than outside.
        case crossCheck = "cross_check"
        /// Nothing is known to be wrong, but whether a certificate was revoked could not be learned.
        case undetermined
    }

    package var reason: Reason
    /// A sentence for the person on call; it quotes no payload.
    package var detail: String

    package init(reason: Reason, detail: String) {
        self.reason = reason
        self.detail = detail
    }

    package var description: String { detail }

    /// What is known of the payload: only *invalid* says something against it.
    package var verdict: VerificationVerdict {
        reason == .undetermined ? .undetermined : .invalid
    }
}

/// What verification can say of a signed payload; never only two.
package enum VerificationVerdict: String, Hashable, Sendable, CaseIterable {
    case valid, invalid
    /// It could not be told: a certificate's revocation status was out of reach.
    case undetermined
}
