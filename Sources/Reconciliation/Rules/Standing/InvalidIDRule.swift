import Subscriptions

extension AllRules {
    /// `invalid_id`: our id is malformed, Apple says so, or it is a later transaction's id.
    ///
    /// A malformed id (rounded number, white space, `2.0E+15`) never enters a request. For a later
    /// transaction's id the original id is in `apple_value`; the row is not changed and the original
    /// not inserted, because there might be two rows for one subscription then.
    static let invalidID = StandingRule("InvalidIDRule") { scoped, context in
        let row = scoped.row
        guard context.isAsked(row) else { return nil }
        let id = row.key.originalTransactionID
        if TransactionID(id) == nil {
            return .discrepancy(difference(row, cause: "malformed id"))
        }
        guard context.belongsToApp(row) else { return nil }
        if context.item.statuses == .invalidID {
            return .discrepancy(difference(row, cause: "Apple refuses the id"))
        }
        guard !context.answerContainsAsked, let original = context.trueOriginal else { return nil }
        var difference = difference(row, cause: "a later transaction's id")
        difference.finding.transactionID = original.transactionID
        difference.finding.appleValue = .text(original.originalTransactionID)
        difference.finding.appleAsOf = original.signedDate
        difference.finding.evidence = original.evidence.digest
        difference.payload = original.evidence
        return .discrepancy(difference, absence: .present)
    }

    private static func difference(_ row: LocalSubscription, cause: String) -> Difference {
        Difference(.invalidID, .high, of: row, in: .originalTransactionID, cause: cause)
    }
}

extension CaseContext {
    /// The signed transaction of the asked id, when it belongs to another original id.
    var trueOriginal: SignedTransaction? {
        guard let info, info.transactionID == item.askedID,
            info.originalTransactionID != item.askedID
        else { return nil }
        return info
    }
}
