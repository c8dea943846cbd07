/// Which customers' refunds are read, and how often.
package struct RefundSweep: Hashable, Sendable {
    package var app: AppIdentity
    /// In how many days each customer comes once.
    package var days: Int
    package var now: Timestamp

    package init(app: AppIdentity, days: Int, now: Timestamp) {
        self.app = app
        self.days = days
        self.now = now
    }

    /// A customer whose refunds were read since is not due.
    package var cutoff: Timestamp {
        now.adding(milliseconds: -Int64(days) * Milliseconds.perDay)
    }
}

/// A customer whose refunds are due, by one of the stored purchases.
package struct RefundedCustomer: Hashable, Sendable {
    /// Of the customer, or of the purchase where no customer is stored with it.
    package var name: String
    package var transactionID: String

    package init(name: String, transactionID: String) {
        self.name = name
        self.transactionID = transactionID
    }
}

/// How many customers of an app have stored purchases, and whose refunds are due.
package struct RefundSweepCount: Hashable, Sendable {
    package var customers = 0
    package var due = 0
    /// In how many days each customer comes once.
    package var days = 1

    package init() {}

    /// How many a run reads: one part of the days, so that every night reads as many.
    package var tonight: Int { min(due, (customers + days - 1) / max(1, days)) }
}
