/// Which customers' refunds are read, and how often.
package struct RefundSweep: Hashable, Sendable {
    package var app: AppIdentity
    /// In how many days each customer comes once.
    package var days: Int
    /// When the run began.
    package var now: Timestamp

    package init(app: AppIdentity, days: Int, now: Timestamp) {
        self.app = app
        self.days = days
        self.now = now
    }

    /// A customer whose refunds were read since then is not due.
    package var cutoff: Timestamp { now.startOfDay(addingDays: 1 - Int64(days)) }
}

/// The customer of a stored one-time purchase.
package enum PurchaseCustomer: Hashable, Sendable {
    case named(String)
    /// No customer is stored with the purchase of this transaction id.
    case unnamed(String)

    /// From the two columns of a purchase.
    package init(customerID: String?, transactionID: String) {
        self = customerID.flatMap { $0.isEmpty ? nil : .named($0) } ?? .unnamed(transactionID)
    }
}

/// A customer whose refunds are due, by one of the stored purchases.
package struct RefundedCustomer: Hashable, Sendable {
    package var customer: PurchaseCustomer
    package var transactionID: String
    /// Whether a subscription of the customer's is stored: then its question shows the customer's other
    /// purchases.
    package var hasSubscription: Bool

    package init(customer: PurchaseCustomer, transactionID: String, hasSubscription: Bool) {
        self.customer = customer
        self.transactionID = transactionID
        self.hasSubscription = hasSubscription
    }
}

/// How many customers of an app have stored purchases, and whose refunds are due.
package struct RefundSweepCount: Hashable, Sendable {
    package var customers = 0
    package var due = 0
    /// How many of the due ones have no stored subscription.
    package var dueWithoutSubscription = 0
    /// In how many days each customer comes once.
    package var days = 1

    package init() {}

    /// How many a run reads: one part of the days, so that every night reads as many.
    package var tonight: Int { min(due, (customers + days - 1) / max(1, days)) }

    /// How many of these have no stored subscription, if both sorts come as often.
    package var tonightWithoutSubscription: Int {
        due == 0
            ? 0 : Int((Double(tonight) * Double(dueWithoutSubscription) / Double(due)).rounded())
    }
}
