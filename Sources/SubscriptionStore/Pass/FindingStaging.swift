import GRDB
import Subscriptions

/// Writes findings into a pass and reads them back.
struct FindingStaging {
    let db: Database
    let run: RunReference

    /// The columns of a finding that do not depend on its pass or its correction.
    static let columns = [
        "finding_id", "kind", "severity", "bundle_id", "environment", "key_bundle_id",
        "key_environment", "original_transaction_id", "outcome_bundle_id", "outcome_environment",
        "outcome_original_transaction_id", "transaction_id", "customer_id", "product_id", "field",
        "local_value", "apple_value", "local_as_of", "apple_as_of", "direction", "amount",
        "currency", "cause", "evidence", "action", "changed_at", "asked_because",
    ]

    /// Stores a finding once: a repeat of it from another answer is ignored.
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
            finding.changedAt?.unixMilliseconds, finding.askedBecause?.rawValue,
            Self.mending(finding, among: corrections),
        ]
        // What the pass states itself takes the place of what it repeats.
        try db.cachedStatement(
            sql: """
                UPDATE trueup_pass_findings INDEXED BY trueup_pass_findings_owed
                SET superseded_by = ? WHERE pass_id = ? AND finding_id = ?
                    AND is_carried = \(OwedFindings.mark) AND superseded_by IS NULL
                """
        ).execute(arguments: [run.sequence, run.passID, FindingIdentity.of(finding)])
        try db.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO trueup_pass_findings (
                    pass_id, \(Self.columns.joined(separator: ", ")), correction_id)
                VALUES (?, \(Self.columns.map { _ in "?" }.joined(separator: ", ")), ?)
                """
        ).execute(arguments: arguments)
    }

    /// The correction that resolves a finding: same kind, and for a period the same transaction.
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

/// The identity of a finding over the nights.
enum FindingIdentity {
    /// The first 24 hexadecimal digits of SHA-256 over what the finding is about.
    static func of(_ finding: Finding) -> String {
        let parts = [
            finding.kind.rawValue, finding.bundleID, finding.environment,
            finding.key?.originalTransactionID ?? "", finding.field ?? "",
        ]
        return String(Hexadecimal.sha256(of: parts.joined(separator: "\u{1F}").utf8).prefix(24))
    }
}

extension Finding {
    /// The columns that `init(_:)` reads, of the table `f`.
    static let columns = """
        f.kind, f.severity, f.bundle_id, f.environment, f.key_bundle_id, f.key_environment,
        f.original_transaction_id, f.transaction_id, f.customer_id, f.product_id, f.field,
        f.local_value, f.apple_value, f.local_as_of, f.apple_as_of, f.direction, f.amount,
        f.currency, f.cause, f.evidence, f.asked_because
        """

    static let columnCount = 21

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
        askedBecause = row.text(at: 20).flatMap(QuestionReason.init(rawValue:))
    }
}
