import Subscriptions

/// `invalid_id`: our id is malformed, Apple says so, or it is a later transaction's id.
///
/// A malformed id (rounded number, white space, `2.0E+15`) never enters a request. For a later
/// transaction's id the original id is in `apple_value`; the row is not changed and the original
/// not inserted, because there might be two rows for one subscription then.
struct InvalidIDRule: StandingRule {
    func conclusion(about scoped: ScopedRow, in context: CaseContext) -> Conclusion? {
        let row = scoped.row
        guard context.isAsked(row) else { return nil }
        let id = row.key.originalTransactionID
        if TransactionID(id) == nil {
            return .discrepancy(Self.difference(row, cause: "malformed id"))
        }
        guard context.belongsToApp(row) else { return nil }
        if context.refusal == .invalidID {
            return .discrepancy(Self.difference(row, cause: "Apple refuses the id"))
        }
        guard !context.answerContainsAsked, let original = Self.trueOriginal(in: context) else {
            return nil
        }
        var difference = Self.difference(row, cause: "a later transaction's id")
        difference.finding.transactionID = original.transactionID
        difference.finding.appleValue = .text(original.originalTransactionID)
        difference.finding.appleAsOf = original.signedDate
        difference.finding.evidence = original.evidence.digest
        difference.payload = original.evidence
        return .discrepancy(difference, absence: .present)
    }

    /// The signed transaction of the asked id, when it belongs to another original id.
    static func trueOriginal(in context: CaseContext) -> SignedTransaction? {
        guard let info = context.info, info.transactionID == context.item.askedID,
            info.originalTransactionID != context.item.askedID
        else { return nil }
        return info
    }

    private static func difference(_ row: LocalSubscription, cause: String) -> Difference {
        var finding = Finding(kind: .invalidID, severity: .high, row: row)
        finding.field = SubscriptionField.originalTransactionID.rawValue
        finding.localValue = .text(row.key.originalTransactionID)
        finding.cause = cause
        return Difference(finding, payload: nil)
    }
}
