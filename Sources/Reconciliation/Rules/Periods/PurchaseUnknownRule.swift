package import Subscriptions

extension AllRules {
    /// `purchase_unknown`: a stored one-time purchase of which Apple knows no transaction.
    ///
    /// Two answers agree: the customer's complete history lacks the purchase, or Apple finds no history by its
    /// id; and Get Transaction Info does not find the id either. The row may be forged or from another
    /// environment: high, never corrected.
    static let purchaseUnknown = Rule<LocalTransaction, [Difference]>(
        "PurchaseUnknownRule"
    ) { purchase in
        var finding = Finding(
            kind: .purchaseUnknown, severity: .high, bundleID: purchase.key.bundleID,
            environment: purchase.key.environment)
        finding.key = purchase.subscription
        finding.field = purchase.key.transactionID
        finding.transactionID = purchase.key.transactionID
        finding.customerID = purchase.customerID
        finding.productID = purchase.productID
        finding.localValue = .text(purchase.key.transactionID)
        finding.localAsOf = purchase.signedDate
        finding.amount = purchase.price
        finding.currency = purchase.price == nil ? nil : purchase.currency
        finding.cause = "purchase unknown to Apple"
        return [Difference(finding, payload: nil)]
    }
}

/// The stored purchases of a customer that the customer's complete history lacks, by key.
///
/// They may be unknown to Apple, or of another Apple Account of the customer: Apple is asked about each of
/// them by its own id.
///
/// - Returns: None where the history is not complete; nor any younger than a day, because Apple may find a
///   new transaction late; nor any where so many are absent that one name must be that of many customers.
package func absentPurchases(
    _ stored: [LocalTransaction], from history: HistoryReading, policy: Policy
) -> [LocalTransaction] {
    guard case .complete(let signed) = history, policy.reports(.purchaseUnknown) else { return [] }
    let known = Set(signed.map(\.transactionID))
    let absent = stored.filter {
        !known.contains($0.key.transactionID) && $0.mayBeUnknown(policy: policy)
    }
    return absent.count > mostAbsentPurchases ? [] : absent.sorted { $0.key < $1.key }
}

private let mostAbsentPurchases = 16

/// The outcome of a stored purchase that its customer's history lacks, by what Get Transaction Info says
/// about its id; `nil` where that decides nothing.
package func outcome(
    ofAbsent purchase: LocalTransaction, info: Lookup<SignedTransaction>, app: AppIdentity,
    policy: Policy
) -> RowOutcome? {
    OutcomeDraft(ofAbsent: purchase, info: info, app: app, policy: policy)?.outcome(policy: policy)
}

extension OutcomeDraft {
    init?(
        ofAbsent purchase: LocalTransaction, info: Lookup<SignedTransaction>, app: AppIdentity,
        policy: Policy
    ) {
        switch info {
        case .answered(let signed)
        where signed.transactionID == purchase.key.transactionID && !signed.isSubscription:
            self.init(
                of: PurchaseComparison(
                    signed: signed, stored: purchase, owner: nil, app: app, policy: policy))
        case .transactionNotFound, .invalidID:
            guard purchase.mayBeUnknown(policy: policy) else { return nil }
            self.init(ofUnknown: purchase)
        default: return nil
        }
    }
}

extension LocalTransaction {
    /// Whether Apple had a day to learn of the purchase.
    fileprivate func mayBeUnknown(policy: Policy) -> Bool {
        let settle = max(policy.settleMilliseconds, Milliseconds.perDay)
        let settled = policy.now.adding(milliseconds: -settle)
        return unreadable.isEmpty
            && [purchaseDate, signedDate].compactMap(\.self).allSatisfy { $0 <= settled }
    }

    /// By which outcomes, findings and ledger entries name a purchase.
    package var subscription: SubscriptionKey {
        SubscriptionKey(
            bundleID: key.bundleID, environment: key.environment,
            originalTransactionID: originalTransactionID)
    }
}
