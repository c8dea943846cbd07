import Subscriptions

/// Rejects a history that contains another customer's transactions.
///
/// Pages are read one by one, and a proxy or a fault may return another customer's page instead of
/// the right one. A history with such a gap proves no absence. So each transaction must belong to
/// the customer: by its original id, which the status answer names; by the app transaction id, of
/// which there is one for each Apple Account and app; or, where one side has none, by the account
/// token. Purchases other than subscriptions that state neither are accepted.
package func customerHistory(_ history: HistoryReading, of item: Case) -> HistoryReading {
    guard case .answered(let answer) = item.statuses else { return history }
    let owner = HistoryOwner(answer)
    let transactions: [SignedTransaction]
    switch history {
    case .complete(let all), .since(_, let all): transactions = all
    case .incomplete: return history
    }
    guard transactions.allSatisfy(owner.owns) else {
        return .incomplete("a transaction in it is another customer's")
    }
    return history
}

private struct HistoryOwner {
    private let originals: Set<String>
    private let appTransactions: Set<String>
    private let tokens: Set<String>

    init(_ answer: StatusAnswer) {
        let stated = answer.subscriptions.map(\.transaction)
        originals = Set(stated.map(\.originalTransactionID))
            .union(stated.compactMap(\.previousOriginalTransactionID))
            .union(answer.rejected.compactMap(\.originalTransactionID))
        appTransactions = Set(stated.compactMap(\.appTransactionID))
        tokens = Set(stated.compactMap { $0.appAccountToken?.lowercased() })
    }

    func owns(_ transaction: SignedTransaction) -> Bool {
        if originals.contains(transaction.originalTransactionID) { return true }
        if let account = transaction.appTransactionID, !appTransactions.isEmpty {
            return appTransactions.contains(account)
        }
        if let token = transaction.appAccountToken?.lowercased(), !tokens.isEmpty {
            return tokens.contains(token)
        }
        return !transaction.isSubscription
    }
}
