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
