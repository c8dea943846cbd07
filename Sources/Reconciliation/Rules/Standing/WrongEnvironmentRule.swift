import Subscriptions

extension AllRules {
    /// `wrong_environment`: the id belongs to the bundle's other environment.
    ///
    /// The proof is Apple's answer: the other environment contains the id and the row's own does not,
    /// the asking environment contains it while the row names another one, or a payload with a valid
    /// signature names another one. Critical if our row gives access, or if it entitles there,
    /// otherwise high. Typically a tester's sandbox purchase that is stored as production.
    static let wrongEnvironment = StandingRule("WrongEnvironmentRule", version: 2) {
        scoped, context in
        let row = scoped.row
        if let rejected = context.signedRejection(of: row, for: .environment) {
            return .discrepancy(
                difference(
                    row, apple: .null, isEntitling: row.isEntitling, payload: rejected.payload))
        }
        guard let (stated, environment) = proof(about: row, in: context) else { return nil }
        var difference = difference(
            row, apple: .text(environment.rawValue),
            isEntitling: row.isEntitling || stated.status.isEntitling,
            payload: stated.transaction.evidence)
        difference.finding.appleAsOf = stated.signedDate
        return .discrepancy(difference, absence: .present)
    }

    private static func proof(
        about row: LocalSubscription, in context: CaseContext
    ) -> (StatedSubscription, AppStoreEnvironment)? {
        let id = row.key.originalTransactionID
        if row.key.environment != context.item.app.environment.rawValue {
            guard let answer = context.answer, answer.contains(id) else { return nil }
            return answer.statement(about: id).map { ($0, context.item.app.environment) }
        }
        guard context.isAsked(row), context.item.statuses == .transactionNotFound,
            let elsewhere = context.item.elsewhere
        else { return nil }
        return context.statementElsewhere.map { ($0, elsewhere.app.environment) }
    }

    private static func difference(
        _ row: LocalSubscription, apple: FieldValue, isEntitling: Bool, payload: SignedPayload?
    ) -> Difference {
        Difference(
            .wrongEnvironment, isEntitling ? .critical : .high, of: row, in: .environment,
            apple: apple, direction: row.isEntitling ? .companyLoses : .neutral,
            cause: "stored under another environment", payload: payload)
    }
}
