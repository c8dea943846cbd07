import Subscriptions

extension StatedPeriod {
    /// The insert of this period among the rows kept of a subscription.
    ///
    /// Price and currency are written too: only a difference in them is left to report.
    func insert(into subscription: SubscriptionKey, kinds: [FindingKind]) -> PlannedCorrection {
        let key = TransactionKey(
            bundleID: subscription.bundleID, environment: subscription.environment,
            transactionID: transaction.transactionID)
        let local = transaction.asLocal(key: key)
        var changes: [String: FieldChange] = [:]
        for field in TransactionField.allCases where local.value(of: field) != .null {
            changes[field.rawValue] = FieldChange(before: .null, after: local.value(of: field))
        }
        return PlannedCorrection(
            target: .insertPeriod(key, of: subscription), changes: changes, kinds: kinds,
            evidence: transaction.evidence.digest, evidenceRenewal: nil,
            appleSignedDate: transaction.signedDate,
            reason: kinds.isEmpty
                ? "First fill of the subscription's periods."
                : "Takes in a period of Apple's history: transaction_missing.",
            rules: kinds.isEmpty
                ? [FirstFill.applied]
                : kinds.map { AppliedRule(kind: $0, rule: TransactionMissingRule.identity) })
    }
}
