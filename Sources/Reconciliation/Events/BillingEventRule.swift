package import Subscriptions

extension EventNaming {
    /// The table by which the store names the one billing event of each correction, as it writes them.
    ///
    /// A correction may carry several (a renewal into another product, with auto-renewal off): the
    /// first that fits in this order names the event, and the message holds the rest. Money given
    /// back comes first, then whether the customer may use the service, then what they use and
    /// whose it is, and last what will be.
    ///
    /// - Parameter events: those that a receiver wants.
    package init(of events: Set<BillingEvent>) {
        self.init(Self.ordered, delivered: events)
    }

    private static let ordered: [Line] = [
        .init(.firstFill, when: .fillsIn),
        .init(.refund, when: .refundsPurchase(true)),
        .init(.refundReversed, when: .refundsPurchase(false)),
        // A period in the history, a purchase, or a row that is taken away again.
        .init(.correction, when: .leavesNoSubscription),
        .init(.initialPurchase, when: .inserts, .holds(.status, entitling)),
        .init(.correction, when: .inserts),

        .init(.refund, when: .changes(.status), status(.revoked)),
        .init(
            .refundReversed, when: .changes(.status), .held(.status, value(.revoked)),
            .holdsNumber(.status)),
        .init(.expiration, when: .changes(.status), status(.expired)),
        .init(.billingIssue, when: .changes(.status), status(.billingRetry, .billingGracePeriod)),
        // Recovered, or subscribed again.
        .init(.renewal, when: .changes(.status), status(.active)),
        .init(
            .billingIssue, when: .changes(.gracePeriodExpiresDate), status(.billingGracePeriod)),

        .init(.productChange, when: .replaces(.productID)),
        .init(.renewal, when: .holds(.status, entitling), .movesLater(.expiresDate)),
        .init(.transfer, when: .replaces(.inAppOwnershipType)),
        .init(.transfer, when: .replaces(.customerID)),
        .init(.transfer, when: .replaces(.appAccountToken)),

        .init(
            .uncancellation, when: .changes(.autoRenewStatus),
            .holds(.autoRenewStatus, [.integer(1)])),
        .init(
            .cancellation, when: .changes(.autoRenewStatus),
            .holds(.autoRenewStatus, [.integer(0)])),
        // Another product from the next period on.
        .init(.productChange, when: .changes(.autoRenewProductID)),
        // Such as an identifier, or an earlier end.
        .init(.correction),
    ]

    private static let entitling = [value(.active), value(.billingGracePeriod)]

    private static func status(_ statuses: SubscriptionStatus...) -> Condition {
        .holds(.status, statuses.map(value))
    }

    private static func value(_ status: SubscriptionStatus) -> FieldValue {
        FieldValue(status.rawValue)
    }
}
