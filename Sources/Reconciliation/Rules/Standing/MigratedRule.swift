import Subscriptions

extension AllRules {
    /// `migrated`: Apple answers with `previousOriginalTransactionId` = our id.
    ///
    /// The subscription continues under a new original id (`apple_value`). The row is not changed: the
    /// company decides how to migrate its customer.
    static let migrated = StandingRule("MigratedRule") { scoped, context in
        let row = scoped.row
        guard let successor = context.successor(of: row) else { return nil }
        var finding = Finding(kind: .migrated, severity: .medium, row: row)
        finding.field = SubscriptionField.originalTransactionID.rawValue
        finding.transactionID = successor.transactionID
        finding.localValue = .text(row.key.originalTransactionID)
        finding.appleValue = .text(successor.originalTransactionID)
        finding.appleAsOf = successor.signedDate
        finding.cause = "subscription continues under a new original id"
        return .discrepancy(
            Difference(finding, payload: successor.evidence), absence: .present)
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
