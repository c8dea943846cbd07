import GRDB
import Subscriptions

extension Finding {
    /// The columns that `init(_:)` reads, of the table `f`.
    static let columns = """
        f.kind, f.severity, f.bundle_id, f.environment, f.key_bundle_id, f.key_environment,
        f.original_transaction_id, f.transaction_id, f.customer_id, f.product_id, f.field,
        f.local_value, f.apple_value, f.local_as_of, f.apple_as_of, f.direction, f.amount,
        f.currency, f.cause, f.evidence
        """

    static let columnCount = 20

    init(_ row: Row) throws {
        guard let kind = FindingKind(rawValue: row.requiredText(at: 0)),
            let severity = Severity(rawValue: row.requiredText(at: 1)),
            let direction = Direction(rawValue: row.requiredText(at: 15))
        else {
            throw StoreError.inconsistent(
                "The bookkeeping holds a finding that this version does not know "
                    + "(`\(row.requiredText(at: 0))`). Use the version that wrote it.")
        }
        self.init(
            kind: kind, severity: severity, bundleID: row.requiredText(at: 2),
            environment: row.requiredText(at: 3))
        if row.text(at: 6) != nil { key = SubscriptionKey(row, at: 4) }
        transactionID = row.text(at: 7)
        customerID = row.text(at: 8)
        productID = row.text(at: 9)
        field = row.text(at: 10)
        localValue = try FieldValueText.value(row.requiredText(at: 11))
        appleValue = try FieldValueText.value(row.requiredText(at: 12))
        localAsOf = row.time(at: 13)
        appleAsOf = row.time(at: 14)
        self.direction = direction
        amount = row.integer(at: 16)
        currency = row.text(at: 17)
        cause = row.text(at: 18)
        evidence = row.text(at: 19).map(EvidenceDigest.init(hexadecimal:))
    }
}
