/// A kind of what happens to subscriptions, as the business counts it.
///
/// The order is that of reports.
package enum BusinessEventKind: String, Hashable, Sendable, CaseIterable {
    case purchase
    /// A first purchase whose first period is free.
    case trial
    case resubscription
    case renewal
    /// A charge failed: Apple tries again, in a grace period or without one.
    case billingRetry = "billing_retry"
    /// A later charge succeeded.
    case billingRecovery = "billing_recovery"
    case cancellationScheduled = "cancellation_scheduled"
    case cancellationWithdrawn = "cancellation_withdrawn"
    case expiry
    case refund
    case refundReversal = "refund_reversal"
}

/// The report of one notification of Apple's to the business: one event of one product.
package struct BusinessEvent: Hashable, Sendable {
    package var kind: BusinessEventKind
    /// As Apple signed it; empty where it names none.
    package var productID: String

    package init(kind: BusinessEventKind, productID: String) {
        self.kind = kind
        self.productID = productID
    }

    /// Reads the event out of a verified notification and the signed parts inside.
    ///
    /// `nil` for any other event, and for subscriptions without a payment: members of a
    /// family, and assigned seats, have notifications of their own next to the purchaser's.
    ///
    /// - Parameters:
    ///   - type: As Apple spells it.
    ///   - subtype: The same.
    ///   - transaction: The signed transaction inside, if there is one.
    ///   - renewal: The signed renewal info inside, if there is one.
    package init?(
        type: String, subtype: String?, transaction: SignedTransaction?, renewal: SignedRenewal?
    ) {
        guard transaction != nil || renewal != nil,
            transaction?.inAppOwnershipType ?? "PURCHASED" == "PURCHASED",
            let kind = Self.kind(type, subtype, isFree: transaction?.isFreeTrial ?? false)
        else { return nil }
        self.kind = kind
        productID = transaction?.productID ?? renewal?.productID ?? ""
    }

    /// Source: App Store Server Notifications V2, `notificationType` and `subtype`.
    private static func kind(
        _ type: String, _ subtype: String?, isFree: Bool
    ) -> BusinessEventKind? {
        switch (type, subtype) {
        // Seats of a subscription that continues: a refund of some does not refund it.
        case (_, "SEATS"), (_, "INCREASE_QUANTITY"), (_, "DECREASE_QUANTITY"): nil
        case ("SUBSCRIBED", "RESUBSCRIBE"): .resubscription
        case ("SUBSCRIBED", _): isFree ? .trial : .purchase
        case ("DID_RENEW", "BILLING_RECOVERY"): .billingRecovery
        case ("DID_RENEW", _): .renewal
        case ("DID_FAIL_TO_RENEW", _): .billingRetry
        case ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED"): .cancellationScheduled
        case ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED"): .cancellationWithdrawn
        case ("EXPIRED", _): .expiry
        case ("REFUND", _): .refund
        case ("REFUND_REVERSED", _): .refundReversal
        default: nil
        }
    }
}

extension SignedTransaction {
    /// Whether Apple states that the period costs nothing.
    fileprivate var isFreeTrial: Bool { offerDiscountType == "FREE_TRIAL" }
}

/// The counts of Apple's notification history by all runs, up to one run and its day.
///
/// Each verified notification is counted once, on the UTC day of its `signedDate`. A day that was
/// not read has no counts, and that is not a zero: `reads` says what was read.
package struct BusinessRecord: Hashable, Sendable {
    /// By app, day, product and kind; sums above zero alone.
    package var counts: [EventCount]
    /// By app, then in the order of `from`.
    package var reads: [EventRead]

    package init(counts: [EventCount] = [], reads: [EventRead] = []) {
        self.counts = counts
        self.reads = reads
    }

    /// Days that a report shows, the run's own included.
    package static let shownDays: Int64 = 36
    /// Weeks whose same weekday a day is held against.
    package static let comparedWeeks: Int64 = 4
    /// Days that must be known, so that each shown day can be held against the weeks before it.
    package static let knownDays = shownDays + 7 * comparedWeeks
}

/// How many events of one kind an app's product had on one day.
package struct EventCount: Hashable, Sendable {
    package var app: AppIdentity
    /// Since 1970-01-01.
    package var day: Int64
    package var productID: String
    package var kind: BusinessEventKind
    package var events: Int

    package init(
        app: AppIdentity, day: Int64, productID: String, kind: BusinessEventKind, events: Int
    ) {
        self.app = app
        self.day = day
        self.productID = productID
        self.kind = kind
        self.events = events
    }
}

/// A time of which every notification of an app was read and counted, both ends included.
package struct EventRead: Hashable, Sendable {
    package var app: AppIdentity
    package var from: Timestamp
    package var through: Timestamp

    package init(app: AppIdentity, from: Timestamp, through: Timestamp) {
        self.app = app
        self.from = from
        self.through = through
    }
}

extension Timestamp {
    /// The UTC day, counted from 1970-01-01.
    package var dayNumber: Int64 {
        unixMilliseconds.floorDivided(by: Milliseconds.perDay).quotient
    }
}
