import Subscriptions

/// A subscription that we should hold and do not.
struct MissingRow: Sendable {
    let key: SubscriptionKey
    let customerID: String?
    let stated: StatedSubscription

    /// The insert of the whole row.
    ///
    /// Columns that are otherwise only reported are written too: a new row has nothing of the
    /// company's to overwrite.
    var correction: PlannedCorrection {
        var row = LocalSubscription(key: key)
        row.customerID = customerID
        var changes: [String: FieldChange] = [:]
        for field in SubscriptionField.allCases {
            let value = [row.value(of: field), stated.value(of: field)].first { $0 != .null }
            if let value { changes[field.rawValue] = FieldChange(before: .null, after: value) }
        }
        return PlannedCorrection(
            target: .insert(key), changes: changes, kinds: [.missingLocally],
            evidence: stated.transaction.evidence.digest,
            evidenceRenewal: stated.renewal.evidence.digest, appleSignedDate: stated.signedDate,
            reason: "Takes in a subscription of the customer's that Apple holds: missing_locally.",
            rules: [AppliedRule(kind: .missingLocally, rule: MissingLocallyRule.identity)])
    }
}
