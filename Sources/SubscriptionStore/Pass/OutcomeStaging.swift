import GRDB
import Subscriptions

/// Writes findings and planned corrections into a checkpoint and reads them back.
struct OutcomeStaging {
    let db: Database
    let run: RunReference

    /// The columns of a finding that do not depend on its checkpoint or its correction.
    static let findingColumns = [
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
            run.passID, finding.identity, finding.kind.rawValue,
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
            Self.fixing(finding, among: corrections),
        ]
        // What the checkpoint states itself takes the place of what it repeats.
        try db.executeCached(
            """
            UPDATE trueup_pass_findings INDEXED BY trueup_pass_findings_owed
            SET superseded_by = ? WHERE pass_id = ? AND finding_id = ?
                AND is_carried = \(UnpublishedFindings.mark) AND superseded_by IS NULL
            """, [run.sequence, run.passID, finding.identity])
        try db.executeCached(
            """
            INSERT OR IGNORE INTO trueup_pass_findings (
                pass_id, \(Self.findingColumns.joined(separator: ", ")), correction_id)
            VALUES (?, \(Self.findingColumns.map { _ in "?" }.joined(separator: ", ")), ?)
            """, arguments)
    }

    /// The correction that resolves a finding: same kind, and for a period the same transaction.
    private static func fixing(
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

extension Finding {
    /// The identity from run to run: the first 24 hexadecimal digits of SHA-256 over what the
    /// finding is about.
    var identity: String {
        let parts = [
            kind.rawValue, bundleID, environment, key?.originalTransactionID ?? "", field ?? "",
        ]
        return String(Hexadecimal.sha256(of: parts.joined(separator: "\u{1F}").utf8).prefix(24))
    }

    /// The columns that `init(_:)` reads, of the table `f`.
    static let columns = """
        f.kind, f.severity, f.bundle_id, f.environment, f.key_bundle_id, f.key_environment,
        f.original_transaction_id, f.transaction_id, f.customer_id, f.product_id, f.field,
        f.local_value, f.apple_value, f.local_as_of, f.apple_as_of, f.direction, f.amount,
        f.currency, f.cause, f.evidence, f.asked_because
        """

    init(_ columns: inout RowColumns) throws {
        let (name, severity) = (columns.requiredText(), Severity(rawValue: columns.requiredText()))
        guard let kind = FindingKind(rawValue: name), let severity else { throw Self.unknown(name) }
        self.init(
            kind: kind, severity: severity, bundleID: columns.requiredText(),
            environment: columns.requiredText())
        let (bundleID, environment) = (columns.requiredText(), columns.requiredText())
        key = columns.text().map {
            SubscriptionKey(bundleID: bundleID, environment: environment, originalTransactionID: $0)
        }
        transactionID = columns.text()
        customerID = columns.text()
        productID = columns.text()
        field = columns.text()
        localValue = try FieldValueText.value(columns.requiredText())
        appleValue = try FieldValueText.value(columns.requiredText())
        localAsOf = columns.time()
        appleAsOf = columns.time()
        guard let direction = Direction(rawValue: columns.requiredText()) else {
            throw Self.unknown(name)
        }
        self.direction = direction
        amount = columns.integer()
        currency = columns.text()
        cause = columns.text()
        evidence = columns.digest()
        askedBecause = columns.text().flatMap(QuestionReason.init(rawValue:))
    }

    private static func unknown(_ kind: String) -> StoreError {
        .inconsistent(
            "The bookkeeping holds a finding that this version does not know (`\(kind)`). "
                + "Use the version that wrote it.")
    }
}

extension OutcomeStaging {
    /// Stores a correction and returns its id; one that the checkpoint already has is kept.
    func store(_ correction: PlannedCorrection) throws -> Int64 {
        let (target, transactionID, version) = Self.parts(of: correction)
        let identity: StatementArguments =
            [run.passID] + correction.subscription.arguments + [
                target, transactionID, correction.undoOf ?? 0,
            ]
        if let id = try db.integer(
            cached: """
                SELECT correction_id FROM trueup_pass_corrections
                WHERE pass_id = ? AND \(SubscriptionKey.isKey)
                    AND target = ? AND transaction_id = ?
                    AND ifnull(undo_of, 0) = ? AND superseded_by IS NULL
                """, identity)
        {
            // Another answer of the same run says the same: it does not make this one outdated.
            try db.executeCached(
                """
                UPDATE trueup_pass_corrections SET rests_on = ?2
                WHERE correction_id = ?1 AND rests_on < ?2
                """, [id, correction.restsOn?.unixMilliseconds])
            return id
        }
        try db.executeCached(
            """
            INSERT INTO trueup_pass_corrections (
                pass_id, bundle_id, environment, original_transaction_id, target,
                transaction_id, undo_of, expected_row_version, changes, kinds, evidence,
                evidence_renewal, apple_signed_date, reason, rules, staged_by, continued_by,
                rests_on)
            VALUES (?, ?, ?, ?, ?, ?, nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            identity + [
                version, FieldValueText.encode(correction.changes),
                TextList.encode(correction.kinds.map(\.rawValue)),
                correction.evidence.hexadecimal, correction.evidenceRenewal?.hexadecimal,
                correction.appleSignedDate.unixMilliseconds, correction.reason,
                TextList.encode(correction.rules), run.sequence,
                TextList.encode(correction.continuedBy), correction.restsOn?.unixMilliseconds,
            ])
        let id = db.lastInsertedRowID
        try LinkedCorrections(db: db, passID: run.passID)
            .add(correction.continuedBy, to: correction.subscription)
        return id
    }

    /// Stores the fate of a correction; nothing else writes this column.
    func note(_ fate: CorrectionFate, ofCorrection id: Int64) throws {
        try db.executeCached(
            """
            UPDATE trueup_pass_corrections SET fate = ?, fate_by = ? WHERE correction_id = ?
            """, [fate.rawValue, run.sequence, id])
    }

    /// Notes that corrections were written, of which nothing else is to be noted.
    func noteApplied(_ ids: [Int64]) throws {
        guard !ids.isEmpty else { return }
        try db.executeCached(
            """
            UPDATE trueup_pass_corrections SET fate = ?, fate_by = ?
            WHERE correction_id IN (SELECT value FROM json_each(?))
            """, [CorrectionFate.applied.rawValue, run.sequence, "\(ids)"])
    }

    /// Whether a written correction has nothing to be noted but its fate.
    static func isOnlyNoted(_ item: PlanApplication.StoredCorrection) -> Bool {
        switch item.correction.target {
        case .update, .insertPeriod: true
        case .updatePeriod: item.correction.undoOf == nil
        case .insert, .delete, .deletePeriod: false
        }
    }

    /// Writes down how a correction ended, and what that means for its row.
    ///
    /// - Parameters:
    ///   - fate: How it ended.
    ///   - item: The correction with its number.
    ///   - isOutdated: Whether it is stale because a newer statement of Apple's is known.
    /// - Throws: What writing to the database throws.
    func note(
        _ fate: CorrectionFate, of item: PlanApplication.StoredCorrection, isOutdated: Bool = false
    ) throws {
        try note(fate, ofCorrection: item.id)
        let key = item.correction.subscription
        switch (fate, item.correction.target) {
        case (.stale, _):
            try db.executeCached(
                """
                UPDATE trueup_pass_rows SET verdict = \(VerdictCode.undecided.rawValue),
                    reason = ?
                WHERE pass_id = ? AND \(SubscriptionKey.isKey)
                    AND verdict BETWEEN \(VerdictCode.match.rawValue)
                        AND \(VerdictCode.excluded.rawValue)
                """,
                [
                    (isOutdated ? UndecidedReason.newerLocally : .changedDuringRun).rawValue,
                    run.passID,
                ] + key.arguments)
        case (.applied, .insert):
            // The walk of a run that continues must not meet it as a row in scope.
            try db.executeCached(
                """
                INSERT INTO trueup_pass_rows (
                    pass_id, bundle_id, environment, original_transaction_id, verdict)
                VALUES (?, ?, ?, ?, \(VerdictCode.inserted.rawValue))
                ON CONFLICT DO UPDATE SET verdict = excluded.verdict
                    WHERE verdict = \(VerdictCode.noted.rawValue)
                """, [run.passID] + key.arguments)
        case (.applied, .deletePeriod), (.applied, .delete):
            // Read on from its end, a history would never show again what was reverted.
            try db.executeCached(
                "DELETE FROM trueup_history_revisions WHERE \(SubscriptionKey.isKey)",
                key.arguments)
        case (.applied, .updatePeriod) where item.correction.undoOf != nil:
            // What is empty again only the whole history states: no periods agree with this digest.
            try db.executeCached(
                """
                UPDATE trueup_history_revisions SET periods_sha256 = ''
                WHERE \(SubscriptionKey.isKey) AND periods_sha256 IS NOT NULL
                """, key.arguments)
        default: break
        }
    }

    /// Counts the row of a correction in a run that checks no row itself.
    ///
    /// The verdict is that of the run that checked it: a row with only fills is a match, a row to
    /// be inserted is not in scope yet.
    func noteRow(of correction: PlannedCorrection) throws {
        var verdict = correction.kinds.isEmpty ? VerdictCode.match : .discrepancy
        if case .insert = correction.target { verdict = .noted }
        // A purchase is not a row of the table of subscriptions.
        if case .purchase = correction.changes { verdict = .noted }
        try db.executeCached(
            """
            INSERT INTO trueup_pass_rows (
                pass_id, bundle_id, environment, original_transaction_id, verdict)
            VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET verdict = max(verdict, excluded.verdict)
            WHERE verdict = \(VerdictCode.match.rawValue)
            """, [run.passID] + correction.subscription.arguments + [verdict.rawValue])
    }

    /// A period has the bundle id and environment of its subscription.
    private static func parts(
        of correction: PlannedCorrection
    ) -> (target: String, transactionID: String, version: Int64?) {
        let isPurchase = correction.changes.transactionTable == .purchases
        return switch correction.target {
        case .update(_, let version): ("update", "", version)
        case .insert: ("insert", "", nil)
        case .insertPeriod(let key, _):
            (isPurchase ? "purchase" : "period", key.transactionID, nil)
        case .updatePeriod(let key, _):
            (isPurchase ? "update_purchase" : "update_period", key.transactionID, nil)
        case .delete(_, let version): ("delete", "", version)
        case .deletePeriod(let key, _):
            (isPurchase ? "delete_purchase" : "delete_period", key.transactionID, nil)
        }
    }
}

extension PlannedCorrection {
    /// The columns that `init(_:)` reads, of the table `c`.
    static let columns = """
        c.bundle_id, c.environment, c.original_transaction_id, c.target, c.transaction_id,
        c.expected_row_version, c.changes, c.kinds, c.evidence, c.evidence_renewal,
        c.apple_signed_date, c.reason, c.rules, c.undo_of, c.continued_by, c.rests_on
        """

    init(_ columns: inout RowColumns) throws {
        let (key, name, transactionID) = (
            columns.key(), columns.requiredText(), columns.requiredText()
        )
        let version = columns.integer() ?? 0
        let period = key.transaction(transactionID)
        let (target, table): (Target, ChangeSet.Table) =
            switch name {
            case "update": (.update(key, expectedRowVersion: version), .subscriptions)
            case "insert": (.insert(key), .subscriptions)
            case "delete": (.delete(key, expectedRowVersion: version), .subscriptions)
            case "update_period": (.updatePeriod(period, of: key), .transactions)
            case "delete_period": (.deletePeriod(period, of: key), .transactions)
            case "purchase": (.insertPeriod(period, of: key), .purchases)
            case "update_purchase": (.updatePeriod(period, of: key), .purchases)
            case "delete_purchase": (.deletePeriod(period, of: key), .purchases)
            default: (.insertPeriod(period, of: key), .transactions)
            }
        self.init(
            target: target,
            changes: try FieldValueText.changes(columns.requiredText(), of: table.rawValue),
            kinds: columns.list().compactMap(FindingKind.init(rawValue:)),
            evidence: columns.requiredDigest(), evidenceRenewal: columns.digest(),
            appleSignedDate: columns.requiredTime(), reason: columns.requiredText(),
            rules: TextList.rules(columns.requiredText()), undoOf: columns.integer())
        continuedBy = columns.list()
        restsOn = columns.time()
    }
}
