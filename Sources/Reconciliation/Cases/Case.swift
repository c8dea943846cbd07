package import Subscriptions

/// Everything that is known about one asked id: what was asked, what Apple answered, and our rows.
///
/// It starts with the status call; `judge` says what else must be asked.
package struct Case: Hashable, Sendable {
    /// The app that asked.
    package var app: AppIdentity
    /// The id that was asked for, as stored.
    package var askedID: String
    /// The row that was checked; `nil` when a notification named a subscription that we do not
    /// hold.
    package var asked: ScopedRow?
    /// Our other rows with an id of the answer, of any app.
    package var held: [ScopedRow] = []
    /// `nil` when the id is malformed and was not asked for.
    package var statuses: Lookup<StatusAnswer>?
    // The answers to further questions; see `Question`.
    package var transactionInfo: Lookup<SignedTransaction>?
    package var elsewhere: Elsewhere?
    package var history: HistoryReading?
    /// Rows stored under the id of a later transaction of a subscription in the answer, by the
    /// original transaction id of that subscription.
    package var aliasRows: [String: [SubscriptionKey]] = [:]
    /// Rows of subscriptions in the answer that are under apps whose rows the run does not read, by
    /// original transaction id.
    package var underOtherApps: [String: SubscriptionKey] = [:]
    /// The stored one-time purchases that the history shows, by transaction id; `nil` where the company
    /// stores none of this app.
    package var purchases: [String: LocalTransaction]?
    /// All stored one-time purchases of the asked row's customer, once the whole history was read.
    package var customerPurchases: [LocalTransaction] = []
    /// The answers of Get Transaction Info about purchases that the history lacks, by transaction id.
    package var purchaseInfos: [String: Lookup<SignedTransaction>]?
    /// Unknown fields around the history's signed transactions.
    package var historyUnknowns: [UnknownValue] = []

    package init(app: AppIdentity, askedID: String, asked: ScopedRow?) {
        self.app = app
        self.askedID = askedID
        self.asked = asked
    }

    /// The answer about the same id in the bundle's other environment.
    package struct Elsewhere: Hashable, Sendable {
        package var app: AppIdentity
        package var statuses: Lookup<StatusAnswer>

        package init(app: AppIdentity, statuses: Lookup<StatusAnswer>) {
            self.app = app
            self.statuses = statuses
        }
    }
}

/// A customer's transaction history, as far as it was read; it covers all of the customer's
/// subscriptions.
package enum HistoryReading: Hashable, Sendable {
    /// From the beginning to the end: what is absent from it does not exist.
    case complete([SignedTransaction])
    /// From a stored revision to the end: only what was added or modified since.
    case since(revision: String, [SignedTransaction])
    /// It could not be read to its end, so absence proves nothing; the text says why.
    case incomplete(String)
}

/// Rejects a history that contains another customer's transactions.
///
/// Pages are read one by one, and a proxy or a fault may return another customer's page instead of
/// the right one. A history with such a gap proves no absence. So each transaction must belong to
/// the customer: by its original id, which the status answer names; by the app transaction id, of
/// which there is one for each Apple Account and app; or, where one side has none, by the account
/// token. Purchases other than subscriptions that state neither are accepted.
package func customerHistory(_ history: HistoryReading, of item: Case) -> HistoryReading {
    guard case .answered(let answer) = item.statuses else { return history }
    let stated = answer.subscriptions.map(\.transaction)
    let originals = Set(stated.map(\.originalTransactionID))
        .union(stated.compactMap(\.previousOriginalTransactionID))
        .union(answer.rejected.compactMap(\.originalTransactionID))
    let appTransactions = Set(stated.compactMap(\.appTransactionID))
    let tokens = Set(stated.compactMap { $0.appAccountToken?.lowercased() })
    let isCustomers = history.transactions.allSatisfy { transaction in
        if originals.contains(transaction.originalTransactionID) { return true }
        if let account = transaction.appTransactionID, !appTransactions.isEmpty {
            return appTransactions.contains(account)
        }
        if let token = transaction.appAccountToken?.lowercased(), !tokens.isEmpty {
            return tokens.contains(token)
        }
        return !transaction.isSubscription
    }
    return isCustomers ? history : .incomplete("a transaction in it is another customer's")
}

/// Rejects the history of a customer without a subscription that contains another customer's transactions.
///
/// It must show the asked transaction, and no app transaction id but that one's, as far as both state one.
package func customerHistory(
    _ history: HistoryReading, ofPurchase transactionID: String
) -> HistoryReading {
    guard case .complete(let all) = history else { return history }
    guard let asked = all.first(where: { $0.transactionID == transactionID }) else {
        return .incomplete("the transaction by which it was read is not in it")
    }
    guard let account = asked.appTransactionID else { return history }
    return all.allSatisfy { ($0.appTransactionID ?? account) == account }
        ? history : .incomplete("a transaction in it is another customer's")
}
