import Subscriptions

extension AllRules {
    /// `duplicate_local`: two rows hold one original transaction or one web order line item.
    ///
    /// Apple's answer does not say which of them is right, so neither is written. It needs no answer,
    /// so it is reported for every row that is examined. One finding for each of the two columns;
    /// `apple_value` is empty, `local_value` names the first of the other rows.
    static let duplicateLocal = Rule<ScopedRow, [Difference]>("DuplicateLocalRule") { scoped in
        guard !scoped.duplicates.isEmpty else { return [] }
        let row = scoped.row
        let sharesOriginal = scoped.duplicates.filter {
            $0.originalTransactionID == row.key.originalTransactionID
        }
        let sharesItem = scoped.duplicates.filter {
            $0.originalTransactionID != row.key.originalTransactionID
        }
        return [
            finding(row, .originalTransactionID, others: sharesOriginal),
            finding(row, .webOrderLineItemID, others: sharesItem),
        ].compactMap { $0 }
    }

    private static func finding(
        _ row: LocalSubscription, _ field: SubscriptionField, others: [SubscriptionKey]
    ) -> Difference? {
        guard let other = others.min() else { return nil }
        var finding = Finding(kind: .duplicateLocal, severity: .high, row: row)
        finding.field = field.rawValue
        finding.localValue = .text(
            "\(other.bundleID)/\(other.environment)/\(other.originalTransactionID)")
        finding.cause = "two rows for one subscription"
        return Difference(finding, payload: nil)
    }
}
