import Subscriptions

/// The transactions that together represent one period of a subscription for a group.
///
/// A purchaser who adds seats within a period gets a further transaction for the same period.
/// Neither replaces the other, an answer may show any of them, and each is refunded on its own.
/// Apple marks all of them with `SEAT_ADDITION`. Whether they have one line item is not documented,
/// so the same end counts as well. Source: App Store Server API 1.23, `additionalTransactionReason`
/// and `revokedSeatQuantity`.
struct SharedPeriod: Sendable {
    /// The known transactions, each once, the first purchase first.
    let transactions: [SignedTransaction]
    /// Whether these are all of them, by Apple's complete history.
    let isWhole: Bool
    /// The transaction that represents the period.
    ///
    /// One that is not revoked, if any is known: the first that the answer itself shows. Otherwise
    /// one of which only a part was refunded, because that need not end the access. Where all are
    /// wholly revoked, the last of them, with which access ended.
    let representative: SignedTransaction

    /// `nil` where the newest period that the answer shows is represented by one transaction.
    ///
    /// - Parameters:
    ///   - shown: The transactions of the answer's entries about one subscription.
    ///   - history: The customer's history, where it was read.
    init?(shown: [SignedTransaction], history: HistoryReading?) {
        guard let id = shown.first?.originalTransactionID,
            shown.contains(where: \.sharesPeriod)
        else { return nil }
        let read = (history?.transactions ?? []).filter { $0.originalTransactionID == id }
        let known = Array((shown + read).latestByID.values)
        let shownIDs = Set(shown.map(\.transactionID))
        guard
            let newest = known.filter({ shownIDs.contains($0.transactionID) })
                .max(by: { $0.endsBefore($1) }),
            newest.sharesPeriod
        else { return nil }
        let members = known.filter { $0.isAddedSeats(of: newest) }
            .sorted { $0.comesBefore($1) }
        transactions = members
        let isComplete = if case .complete = history { !read.isEmpty } else { false }
        // Apple's mark says that there are at least two.
        isWhole = isComplete && members.count > 1
        let valid = members.filter { $0.revocationDate == nil }
        let shownAndValid = valid.first { shownIDs.contains($0.transactionID) }
        let partlyRevoked = members.filter { !$0.isWhollyRevoked }
        let lastRevoked = (partlyRevoked.isEmpty ? members : partlyRevoked)
            .max { $0.isRevokedBefore($1) }
        representative = shownAndValid ?? valid.first ?? lastRevoked ?? newest
    }

    /// Whether every transaction of the period is revoked; `nil` where that depends on transactions
    /// that are not shown.
    ///
    /// Only that ends access. A revoked quantity of seats never does, nor does one revoked
    /// transaction of several.
    var isRevoked: Bool? {
        if transactions.contains(where: { $0.revocationDate == nil }) { return false }
        return isWhole ? true : nil
    }

    /// Whether a stored transaction id is one of this period's; `nil` where it may be one that is
    /// not shown.
    func contains(transactionID: String) -> Bool? {
        if transactions.contains(where: { $0.transactionID == transactionID }) { return true }
        return isWhole ? false : nil
    }

    /// Returns whether a line item is among them; `nil` where that is not known.
    func contains(lineItem: String) -> Bool? {
        if transactions.contains(where: { $0.webOrderLineItemID == lineItem }) { return true }
        return isWhole ? false : nil
    }
}

extension SignedTransaction {
    /// Whether both represent one period of one subscription.
    fileprivate func isAddedSeats(of other: SignedTransaction) -> Bool {
        guard sharesPeriod, other.sharesPeriod,
            originalTransactionID == other.originalTransactionID
        else { return false }
        if let mine = webOrderLineItemID, mine == other.webOrderLineItemID { return true }
        return expiresDate != nil && expiresDate == other.expiresDate
    }

    fileprivate func endsBefore(_ other: SignedTransaction) -> Bool {
        if let mine = expiresDate, let theirs = other.expiresDate, mine != theirs {
            return mine < theirs
        }
        return comesBefore(other)
    }

    fileprivate func isRevokedBefore(_ other: SignedTransaction) -> Bool {
        if let mine = revocationDate, let theirs = other.revocationDate, mine != theirs {
            return mine < theirs
        }
        return comesBefore(other)
    }
}
