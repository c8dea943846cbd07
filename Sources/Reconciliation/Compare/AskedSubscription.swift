package import Subscriptions

/// A question of a comparison: a subscription about which no fresh statement is stored.
package struct CompareQuestion: Hashable, Sendable {
    package let originalTransactionID: String
    /// The transactions that the lines are about.
    ///
    /// Only where that is the latest alone, the history is not needed. `nil` where the latest is enough.
    package let transactionIDs: Set<String>?
    /// The apps of the stored rows of the id.
    package let storedApps: [AppIdentity]
    /// Whether the lines are about the sandbox; `nil` where they do not say.
    package let isSandbox: Bool?

    package init(
        originalTransactionID: String, transactionIDs: Set<String>?, storedApps: [AppIdentity],
        isSandbox: Bool?
    ) {
        self.originalTransactionID = originalTransactionID
        self.transactionIDs = transactionIDs
        self.storedApps = storedApps
        self.isSandbox = isSandbox
    }

    /// Whether the answer needs the history, where this is the latest transaction.
    package func needsHistory(besides latest: String) -> Bool {
        transactionIDs.map { $0 != [latest] } ?? false
    }

    /// The apps through which to ask, the likeliest first.
    ///
    /// An export does not name the app. An id of a stored row is that row's app's; any other may be
    /// of every app in the environment of the lines.
    package func apps(among configured: [AppIdentity]) -> [AppIdentity] {
        let own = configured.filter(storedApps.contains)
        guard own.isEmpty else { return own }
        guard let isSandbox else { return configured }
        return configured.filter { ($0.environment == .sandbox) == isSandbox }
    }
}

/// Apple's answer to a question of a comparison.
package enum CompareAnswer: Hashable, Sendable {
    /// The subscriptions of the customer; the asked one is among them.
    case answered([AskedSubscription])
    /// Apple does not find the id in any of the asked apps.
    case notFound
    /// No usable answer; the text says why.
    case unanswered(String)
}

/// One subscription in an answer, with what Apple signed about it.
package struct AskedSubscription: Hashable, Sendable {
    package let key: SubscriptionKey
    package let stated: StatedSubscription
    /// Its transactions, where the customer's history was read to its end; else `nil`.
    package let transactions: [SignedTransaction]?

    package init(
        key: SubscriptionKey, stated: StatedSubscription, transactions: [SignedTransaction]?
    ) {
        self.key = key
        self.stated = stated
        self.transactions = transactions
    }
}
