import GRDB
import Subscriptions

/// Writes findings into a pass and reads them back.
struct FindingStaging {
    let db: Database
    let run: RunReference

    /// What is kept of a finding, whichever pass it belongs to and whatever mends it there.
    static let columns = [
        "finding_id", "kind", "severity", "bundle_id", "environment", "key_bundle_id",
        "key_environment", "original_transaction_id", "outcome_bundle_id", "outcome_environment",
        "outcome_original_transaction_id", "transaction_id", "customer_id", "product_id", "field",
        "local_value", "apple_value", "local_as_of", "apple_as_of", "direction", "amount",
        "currency", "cause", "evidence", "action", "changed_at",
    ]

    /// Stores a finding once: the same one again, out of another answer, adds nothing.
    func store(
        _ finding: Finding, outcome: SubscriptionKey?,
        corrections: [(correction: PlannedCorrection, id: Int64)]
    ) throws {
        var arguments: StatementArguments = [
            run.passID, FindingIdentity.of(finding), finding.kind.rawValue,
            finding.severity.rawValue, finding.bundleID, finding.environment,
            finding.key?.bundleID, finding.key?.environment, finding.key?.originalTransactionID,
            outcome?.bundleID, outcome?.environment, outcome?.originalTransactionID,
        ]
        arguments += [
            finding.transactionID, finding.customerID, finding.productID, finding.field,
            FieldValueText.encode(finding.localValue), FieldValueText.encode(finding.appleValue),
            finding.localAsOf?.unixMilliseconds, finding.appleAsOf?.unixMilliseconds,
            finding.direction.rawValue, finding.amount, finding.currency, finding.cause,
            finding.evidence?.hexadecimal, finding.action.rawValue,
            finding.changedAt?.unixMilliseconds, Self.mending(finding, among: corrections),
        ]
        try db.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO trueup_pass_findings (
                    pass_id, \(Self.columns.joined(separator: ", ")), correction_id)
                VALUES (?, \(Self.columns.map { _ in "?" }.joined(separator: ", ")), ?)
                """
        ).execute(arguments: arguments)
    }

    /// The correction that mends a finding: it names its kind, and for a period its transaction.
    private static func mending(
        _ finding: Finding, among corrections: [(correction: PlannedCorrection, id: Int64)]
    ) -> Int64? {
        let naming = corrections.filter { $0.correction.kinds.contains(finding.kind) }
        let period = naming.first { item in
            guard case .insertPeriod(let key, _) = item.correction.target else { return false }
            return finding.transactionID == key.transactionID || finding.field == key.transactionID
        }
        let row = naming.first { $0.correction.subscription == finding.key }
        return (period ?? row ?? naming.first)?.id
    }
}
