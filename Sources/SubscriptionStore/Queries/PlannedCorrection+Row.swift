import GRDB
import Subscriptions

extension PlannedCorrection {
    /// The columns that `init(_:)` reads, of the table `c`.
    static let columns = """
        c.bundle_id, c.environment, c.original_transaction_id, c.target, c.transaction_id,
        c.expected_row_version, c.changes, c.kinds, c.evidence, c.evidence_renewal,
        c.apple_signed_date, c.reason, c.rules, c.undo_of, c.continued_by
        """

    static let columnCount = 15

    init(_ row: Row) throws {
        let key = SubscriptionKey(row, at: 0)
        let target: Target
        switch row.requiredText(at: 3) {
        case "update": target = .update(key, expectedRowVersion: row.integer(at: 5) ?? 0)
        case "insert": target = .insert(key)
        case "delete": target = .delete(key, expectedRowVersion: row.integer(at: 5) ?? 0)
        case let name:
            let period = TransactionKey(
                bundleID: key.bundleID, environment: key.environment,
                transactionID: row.requiredText(at: 4))
            target =
                switch name {
                case "update_period": .updatePeriod(period, of: key)
                case "delete_period": .deletePeriod(period, of: key)
                default: .insertPeriod(period, of: key)
                }
        }
        self.init(
            target: target, changes: try FieldValueText.changes(row.requiredText(at: 6)),
            kinds: TextList.decode(row.requiredText(at: 7)).compactMap(FindingKind.init(rawValue:)),
            evidence: EvidenceDigest(hexadecimal: row.requiredText(at: 8)),
            evidenceRenewal: row.text(at: 9).map(EvidenceDigest.init(hexadecimal:)),
            appleSignedDate: row.time(at: 10) ?? Timestamp(unixMilliseconds: 0),
            reason: row.requiredText(at: 11),
            rules: AppliedRuleText.decode(row.requiredText(at: 12)), undoOf: row.integer(at: 13))
        continuedBy = TextList.decode(row.requiredText(at: 14))
    }
}
