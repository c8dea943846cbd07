import Subscriptions

extension AllRules {
    /// `migrated`: Apple answers with `previousOriginalTransactionId` = our id.
    ///
    /// The subscription continues under a new original id (`apple_value`). The row is not changed: the
    /// company decides how to migrate its customer.
    static let migrated = StandingRule("MigratedRule") { scoped, context in
        let row = scoped.row
        guard let successor = context.successor(of: row) else { return nil }
        var difference = Difference(
            .migrated, .medium, of: row, in: .originalTransactionID,
            apple: .text(successor.originalTransactionID),
            cause: "subscription continues under a new original id", payload: successor.evidence)
        difference.finding.transactionID = successor.transactionID
        difference.finding.appleAsOf = successor.signedDate
        return .discrepancy(difference, absence: .present)
    }
}

extension CaseContext {
    /// The transaction that names the row's id as its previous original id.
    func successor(of row: LocalSubscription) -> SignedTransaction? {
        guard belongsToApp(row) else { return nil }
        let id = row.key.originalTransactionID
        if let stated = answer?.successor(of: id) { return stated.transaction }
        guard isAsked(row), let info,
            info.previousOriginalTransactionID == id, info.originalTransactionID != id
        else { return nil }
        return info
    }
}
