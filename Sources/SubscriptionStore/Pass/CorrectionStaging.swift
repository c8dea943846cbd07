import GRDB
import Subscriptions

/// Writes planned corrections into a pass and reads them back.
struct CorrectionStaging {
    let db: Database
    let run: RunReference

    /// Stores a correction and returns its id; one that the pass already has is kept.
    func store(_ correction: PlannedCorrection) throws -> Int64 {
        let (target, transactionID, version) = Self.parts(of: correction.target)
        let identity: StatementArguments =
            [run.passID] + correction.subscription.arguments + [
                target, transactionID, correction.undoOf ?? 0,
            ]
        let find = try db.cachedStatement(
            sql: """
                SELECT correction_id FROM trueup_pass_corrections
                WHERE pass_id = ? AND bundle_id = ? AND environment = ?
                    AND original_transaction_id = ? AND target = ? AND transaction_id = ?
                    AND ifnull(undo_of, 0) = ? AND superseded_by IS NULL
                """)
        if let id = try Int64.fetchOne(find, arguments: identity) {
            // Another answer of the same run says the same: it does not make this one outdated.
            try db.cachedStatement(
                sql: """
                    UPDATE trueup_pass_corrections SET rests_on = ?2
                    WHERE correction_id = ?1 AND rests_on < ?2
                    """
            ).execute(arguments: [id, correction.restsOn?.unixMilliseconds])
            return id
        }
        try db.cachedStatement(
            sql: """
                INSERT INTO trueup_pass_corrections (
                    pass_id, bundle_id, environment, original_transaction_id, target,
                    transaction_id, undo_of, expected_row_version, changes, kinds, evidence,
                    evidence_renewal, apple_signed_date, reason, rules, staged_by, continued_by,
                    rests_on)
                VALUES (?, ?, ?, ?, ?, ?, nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(
            arguments: identity + [
                version, FieldValueText.encode(correction.changes),
                TextList.encode(correction.kinds.map(\.rawValue)),
                correction.evidence.hexadecimal, correction.evidenceRenewal?.hexadecimal,
                correction.appleSignedDate.unixMilliseconds, correction.reason,
                AppliedRuleText.encode(correction.rules), run.sequence,
                TextList.encode(correction.continuedBy), correction.restsOn?.unixMilliseconds,
            ])
        let id = db.lastInsertedRowID
        try link(correction)
        return id
    }

    /// Records the subscriptions that give access in place of the one the correction ends.
    private func link(_ correction: PlannedCorrection) throws {
        for other in correction.continuedBy {
            try db.cachedStatement(
                sql: "INSERT OR IGNORE INTO trueup_pass_continuations VALUES (?, ?, ?, ?, ?)"
            ).execute(arguments: [run.passID] + correction.subscription.arguments + [other])
        }
    }

    /// Stores the fate of a correction; nothing else writes this column.
    func note(_ fate: CorrectionFate, ofCorrection id: Int64) throws {
        try db.cachedStatement(
            sql: """
                UPDATE trueup_pass_corrections SET fate = ?, fate_by = ? WHERE correction_id = ?
                """
        ).execute(arguments: [fate.rawValue, run.sequence, id])
    }

    /// Writes down how a correction ended, and what that means for its row.
    func note(_ fate: CorrectionFate, of item: PlanApplication.StoredCorrection) throws {
        try note(fate, ofCorrection: item.id)
        let key = item.correction.subscription
        switch (fate, item.correction.target) {
        case (.stale, _):
            try db.cachedStatement(
                sql: """
                    UPDATE trueup_pass_rows SET verdict = \(VerdictCode.undecided.rawValue),
                        reason = '\(UndecidedReason.changedDuringRun.rawValue)'
                    WHERE pass_id = ? AND bundle_id = ? AND environment = ?
                        AND original_transaction_id = ?
                        AND verdict BETWEEN \(VerdictCode.match.rawValue)
                            AND \(VerdictCode.excluded.rawValue)
                    """
            ).execute(arguments: [run.passID] + key.arguments)
        case (.applied, .insert):
            // The walk of a run that goes on must not meet it as a row in scope.
            try db.cachedStatement(
                sql: """
                    INSERT INTO trueup_pass_rows (
                        pass_id, bundle_id, environment, original_transaction_id, verdict)
                    VALUES (?, ?, ?, ?, \(VerdictCode.inserted.rawValue))
                    ON CONFLICT DO UPDATE SET verdict = excluded.verdict
                        WHERE verdict = \(VerdictCode.noted.rawValue)
                    """
            ).execute(arguments: [run.passID] + key.arguments)
        case (.applied, .deletePeriod), (.applied, .delete):
            // Read on from its end, a history would never show again what was taken back.
            try db.cachedStatement(
                sql: """
                    DELETE FROM trueup_history_revisions WHERE bundle_id = ? AND environment = ?
                        AND original_transaction_id = ?
                    """
            ).execute(arguments: key.arguments)
        case (.applied, .updatePeriod) where item.correction.undoOf != nil:
            // What is empty again only the whole history states: no periods agree with this digest.
            try db.cachedStatement(
                sql: """
                    UPDATE trueup_history_revisions SET periods_sha256 = ''
                    WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                        AND periods_sha256 IS NOT NULL
                    """
            ).execute(arguments: key.arguments)
        default: break
        }
    }

    /// Counts the row of a correction in a run that judges no row itself.
    ///
    /// The verdict is that of the run that judged it: a row with only fills is a match, a row to
    /// be inserted is not in scope yet.
    func noteRow(of correction: PlannedCorrection) throws {
        var verdict = correction.kinds.isEmpty ? VerdictCode.match : .discrepancy
        if case .insert = correction.target { verdict = .noted }
        try db.cachedStatement(
            sql: """
                INSERT INTO trueup_pass_rows (
                    pass_id, bundle_id, environment, original_transaction_id, verdict)
                VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET verdict = max(verdict, excluded.verdict)
                WHERE verdict = \(VerdictCode.match.rawValue)
                """
        ).execute(
            arguments: [run.passID] + correction.subscription.arguments + [verdict.rawValue])
    }

    /// A period has the bundle id and environment of its subscription.
    private static func parts(
        of target: PlannedCorrection.Target
    ) -> (target: String, transactionID: String, version: Int64?) {
        switch target {
        case .update(_, let version): ("update", "", version)
        case .insert: ("insert", "", nil)
        case .insertPeriod(let key, _): ("period", key.transactionID, nil)
        case .updatePeriod(let key, _): ("update_period", key.transactionID, nil)
        case .delete(_, let version): ("delete", "", version)
        case .deletePeriod(let key, _): ("delete_period", key.transactionID, nil)
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

    static let columnCount = 16

    init(_ row: Row) throws {
        let key = SubscriptionKey(row, at: 0)
        let target: Target
        var table = ChangeSet.Table.subscriptions
        switch row.requiredText(at: 3) {
        case "update": target = .update(key, expectedRowVersion: row.integer(at: 5) ?? 0)
        case "insert": target = .insert(key)
        case "delete": target = .delete(key, expectedRowVersion: row.integer(at: 5) ?? 0)
        case let name:
            table = .transactions
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
            target: target,
            changes: try FieldValueText.changes(row.requiredText(at: 6), of: table.rawValue),
            kinds: TextList.decode(row.requiredText(at: 7)).compactMap(FindingKind.init(rawValue:)),
            evidence: EvidenceDigest(hexadecimal: row.requiredText(at: 8)),
            evidenceRenewal: row.text(at: 9).map(EvidenceDigest.init(hexadecimal:)),
            appleSignedDate: row.time(at: 10) ?? Timestamp(unixMilliseconds: 0),
            reason: row.requiredText(at: 11),
            rules: AppliedRuleText.decode(row.requiredText(at: 12)), undoOf: row.integer(at: 13))
        continuedBy = TextList.decode(row.requiredText(at: 14))
        restsOn = row.time(at: 15)
    }
}
