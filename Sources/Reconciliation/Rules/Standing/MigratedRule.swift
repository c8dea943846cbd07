import Subscriptions

/// `migrated`: Apple answers with `previousOriginalTransactionId` = our id.
///
/// The subscription continues under a new original id (`apple_value`). The row is not changed: the
/// company decides how to migrate its customer.
struct MigratedRule: StandingRule {
    func conclusion(about scoped: ScopedRow, in context: CaseContext) -> Conclusion? {
        let row = scoped.row
        guard let successor = Self.successor(of: row, in: context) else { return nil }
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

    static func successor(
        of row: LocalSubscription, in context: CaseContext
    ) -> SignedTransaction? {
        guard context.belongsToApp(row) else { return nil }
        let id = row.key.originalTransactionID
        if let stated = context.answer?.successor(of: id) { return stated.transaction }
        guard context.isAsked(row), let info = context.info,
            info.previousOriginalTransactionID == id, info.originalTransactionID != id
        else { return nil }
        return info
    }
}
