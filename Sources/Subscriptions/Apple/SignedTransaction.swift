/// The contents of a verified `JWSTransactionDecodedPayload`; only a verifier creates one.
///
/// Optional where Apple's model is. Enumerations are raw texts, so that a value that this version
/// does not know is kept.
package struct SignedTransaction: Hashable, Sendable {
    package var evidence: SignedPayload
    package var transactionID: String
    package var originalTransactionID: String
    package var previousOriginalTransactionID: String?
    package var webOrderLineItemID: String?
    package var bundleID: String?
    package var environment: String?
    package var productID: String?
    package var subscriptionGroupID: String?
    /// `Auto-Renewable Subscription`, `Non-Consumable`, `Consumable`, `Non-Renewing Subscription`.
    package var type: String?
    package var purchaseDate: Timestamp?
    package var originalPurchaseDate: Timestamp?
    package var expiresDate: Timestamp?
    package var signedDate: Timestamp
    package var revocationDate: Timestamp?
    package var revocationReason: Int?
    /// `REFUND_FULL`, `REFUND_PRORATED`, `FAMILY_REVOKE`, `ASSIGNMENT_REVOKE`.
    package var revocationType: String?
    /// How much of the price was refunded: thousandths of a percent.
    package var revocationPercentage: Int64?
    /// How many units were bought; of a subscription for a group see `seats`.
    package var quantity: Int64?
    package var isUpgraded = false
    /// `PURCHASED`, `FAMILY_SHARED`, `ASSIGNED`.
    package var inAppOwnershipType: String?
    package var appAccountToken: String?
    package var appTransactionID: String?
    package var offerType: Int?
    /// `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT`, `ONE_TIME`.
    package var offerDiscountType: String?
    /// Milliunits of `currency` (10990 is 10.99): the sum over all seats of the transaction.
    package var price: Int64?
    package var currency: String?
    /// The seats that were bought; `nil` without a subscription for a group.
    package var seats: SignedSeats?
    /// Fields and values that this version does not know.
    package var unknowns: [UnknownValue] = []

    package init(
        evidence: SignedPayload, transactionID: String, originalTransactionID: String,
        signedDate: Timestamp
    ) {
        self.evidence = evidence
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.signedDate = signedDate
    }
}

extension SignedTransaction {
    /// Whether it belongs to a subscription; assumed where the payload states no type.
    package var isSubscription: Bool {
        type.map { $0 == "Auto-Renewable Subscription" } ?? true
    }

    /// Whether the whole purchase is revoked.
    ///
    /// A prorated refund returns a part of the money and need not end the access.
    package var isWhollyRevoked: Bool {
        revocationDate != nil && revocationType != "REFUND_PRORATED"
    }
}

/// The seats of one transaction of a subscription for a group or an organisation.
///
/// Source: App Store Server API 1.23, `quantity`, `multiSeatInfo`, `additionalTransactionReason`.
package struct SignedSeats: Hashable, Sendable {
    /// Seats bought by this transaction, revoked ones included.
    package var quantity: Int64
    /// Seats of it that were refunded while others remain; such a refund ends no access.
    package var revoked: Int64
    /// Whether several transactions represent one period, of which this is one (`SEAT_ADDITION`).
    package var sharesPeriod: Bool
    /// Apple's `price`: the average of one seat, in milliunits.
    package var pricePerSeat: Int64?

    package init(
        quantity: Int64, revoked: Int64 = 0, sharesPeriod: Bool = false,
        pricePerSeat: Int64? = nil
    ) {
        self.quantity = quantity
        self.revoked = revoked
        self.sharesPeriod = sharesPeriod
        self.pricePerSeat = pricePerSeat
    }
}

extension SignedTransaction {
    /// Whether it is one of several transactions that together represent a period.
    package var sharesPeriod: Bool { seats?.sharesPeriod ?? false }

    /// The seats of this transaction alone; `nil` where it is not for a group.
    package var ownSeats: SeatCount? {
        seats.map {
            SeatCount(bought: $0.quantity, revoked: isWhollyRevoked ? $0.quantity : $0.revoked)
        }
    }
}

/// How many seats were bought for a period, and how many of them were revoked.
package struct SeatCount: Hashable, Sendable {
    /// Revoked seats included.
    package var bought: Int64
    package var revoked: Int64
}

extension SeatCount {
    /// The seats of a period that several transactions represent; `nil` without any, and for sums
    /// that no number holds.
    package init?(over transactions: [SignedTransaction]) {
        guard !transactions.isEmpty else { return nil }
        var sum = SeatCount(bought: 0, revoked: 0)
        for transaction in transactions {
            guard let own = transaction.ownSeats else { return nil }
            let bought = sum.bought.addingReportingOverflow(own.bought)
            let revoked = sum.revoked.addingReportingOverflow(own.revoked)
            guard !bought.overflow, !revoked.overflow else { return nil }
            sum = SeatCount(bought: bought.partialValue, revoked: revoked.partialValue)
        }
        self = sum
    }
}

/// A field, or a value of an enumeration, that this version of the program does not know.
package struct UnknownValue: Hashable, Sendable {
    /// For example `transaction.offerType` or `renewalInfo.seatPlan`.
    package let field: String
    /// The raw value as text; `nil` where the field itself is unknown.
    package let value: String?

    package init(field: String, value: String?) {
        self.field = field
        self.value = value
    }
}

extension SignedTransaction {
    /// Ownership types that this version knows.
    package static let knownOwnershipTypes = ["PURCHASED", "FAMILY_SHARED", "ASSIGNED"]

    /// The ownership type where this version knows it; other values are never written to a row.
    package var knownOwnershipType: String? {
        inAppOwnershipType.flatMap { Self.knownOwnershipTypes.contains($0) ? $0 : nil }
    }
}

/// The contents of a verified `JWSRenewalInfoDecodedPayload`; only a verifier creates one.
package struct SignedRenewal: Hashable, Sendable {
    package var evidence: SignedPayload
    package var originalTransactionID: String
    package var environment: String?
    package var productID: String?
    package var autoRenewProductID: String?
    /// 0 off, 1 on.
    package var autoRenewStatus: Int?
    package var renewalDate: Timestamp?
    package var isInBillingRetryPeriod: Bool?
    package var gracePeriodExpiresDate: Timestamp?
    package var expirationIntent: Int?
    /// The seats of the next renewal, where the subscription is for a group.
    package var renewalQuantity: Int64?
    package var signedDate: Timestamp
    package var unknowns: [UnknownValue] = []

    package init(evidence: SignedPayload, originalTransactionID: String, signedDate: Timestamp) {
        self.evidence = evidence
        self.originalTransactionID = originalTransactionID
        self.signedDate = signedDate
    }
}

extension SignedRenewal {
    /// The auto-renew status where it is known (0 or 1); other values are never written to a row.
    package var knownAutoRenewStatus: Int? {
        autoRenewStatus.flatMap { (0...1).contains($0) ? $0 : nil }
    }
}
