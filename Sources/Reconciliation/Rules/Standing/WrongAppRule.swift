import Subscriptions

extension AllRules {
    /// `wrong_app`: the row, or a signed payload, names another bundle than the app asked for it.
    ///
    /// The proof is Apple's answer: it contains the id for the asking app while the row names another
    /// bundle, or a payload with a valid signature names another bundle. The unsigned envelope proves
    /// nothing. Always critical: a customer has access through the purchase of another product.
    static let wrongApp = StandingRule("WrongAppRule") { scoped, context in
        let row = scoped.row
        let id = row.key.originalTransactionID
        if let rejected = context.signedRejection(of: row, for: .app) {
            let difference = difference(row, apple: .null, payload: rejected.payload)
            return .discrepancy(difference)
        }
        guard row.key.bundleID != context.item.app.bundleID,
            let answer = context.answer, answer.contains(id),
            let stated = answer.statement(about: id)
        else { return nil }
        var difference = difference(
            row, apple: .text(context.item.app.bundleID), payload: stated.transaction.evidence)
        difference.finding.appleAsOf = stated.signedDate
        return .discrepancy(difference, absence: .present)
    }

    private static func difference(
        _ row: LocalSubscription, apple: FieldValue, payload: SignedPayload?
    ) -> Difference {
        Difference(
            .wrongApp, .critical, of: row, in: .bundleID, apple: apple,
            direction: row.isEntitling ? .companyLoses : .neutral,
            cause: "another app's subscription", payload: payload)
    }
}
