import GRDB
package import Subscriptions

/// A concluded run, read from the database; each method streams over its own connection.
package struct SQLiteRunRecord: Sendable {
    let store: SQLiteStore
    let runID: String
    let sequence: Int64
    let passID: Int64

    package func summary() throws -> RunSummary {
        try store.stream("reading the summary of \(runID)") { db in
            try RunSummaryReader(db: db, sequence: sequence).summary()
        }
    }

    package func forEachFinding(_ body: (ReportedFinding) throws -> Void) throws {
        let sql = """
            SELECT \(Finding.columns), f.finding_id, r.state, r.first_seen, r.action, k.cause,
                f.changed_at
            FROM trueup_run_findings AS r
            JOIN trueup_pass_findings AS f ON f.finding_seq = r.finding_seq
            LEFT JOIN trueup_run_finding_causes AS k
                ON k.run_seq = r.run_seq AND k.finding_seq = r.finding_seq
            WHERE r.run_seq = ?
            ORDER BY f.bundle_id, f.environment, ifnull(f.original_transaction_id, ''), f.kind,
                ifnull(f.field, ''), f.finding_id, ifnull(f.transaction_id, '')
            """
        try forEachRow("findings", sql, [sequence]) { row in
            let next = Finding.columnCount
            var finding = try Finding(row)
            finding.cause = row.text(at: next + 4) ?? finding.cause
            finding.changedAt = row.time(at: next + 5)
            finding.action = FindingAction(rawValue: row.requiredText(at: next + 3)) ?? .none
            try body(
                ReportedFinding(
                    findingID: row.requiredText(at: next), runID: runID,
                    state: FindingState(rawValue: row.requiredText(at: next + 1)) ?? .new,
                    firstSeen: row.time(at: next + 2) ?? Timestamp(unixMilliseconds: 0),
                    finding: finding))
        }
    }

    private static let reportedEntries = """
        SELECT \(LedgerEntry.columns) FROM \(ReportedEntries.source) AS r
        JOIN trueup_ledger AS l ON l.entry = r.entry
        WHERE r.run_id = ? ORDER BY l.entry
        """

    package func forEachCorrection(_ body: (LedgerEntry) throws -> Void) throws {
        try forEachRow("corrections", Self.reportedEntries, [runID]) { try body(LedgerEntry($0)) }
    }

    package func forEachEvidencedCorrection(
        _ body: (ReportedCorrection) throws -> Void
    ) throws {
        try store.stream("reading corrections of \(runID)") { db in
            let vault = EvidenceVault(db: db)
            let rows = try Row.fetchCursor(db, sql: Self.reportedEntries, arguments: [runID])
            while let row = try rows.next() {
                var correction = ReportedCorrection(entry: try LedgerEntry(row))
                if correction.entry.statedStatus != nil {
                    correction.transaction = try vault.reported(correction.entry.evidence)
                    correction.renewal = try correction.entry.evidenceRenewal.flatMap {
                        try vault.reported($0)
                    }
                }
                try body(correction)
            }
        }
    }

    package func forEachPlanned(_ body: (PlannedCorrection, CorrectionFate) throws -> Void) throws {
        let sql = """
            SELECT \(PlannedCorrection.columns),
                CASE WHEN c.fate_by <= ? THEN c.fate ELSE 'planned' END
            FROM trueup_pass_corrections AS c
            WHERE c.pass_id = ? AND c.staged_by <= ? AND ifnull(c.superseded_by > ?, 1)
            ORDER BY c.bundle_id, c.environment, c.original_transaction_id, c.correction_id
            """
        try forEachRow("the plan", sql, [sequence, passID, sequence, sequence]) { row in
            let fate = row.requiredText(at: PlannedCorrection.columnCount)
            try body(PlannedCorrection(row), CorrectionFate(rawValue: fate) ?? .planned)
        }
    }

    package func forEachUndecided(_ body: (UndecidedRow) throws -> Void) throws {
        let sql = """
            SELECT bundle_id, environment, original_transaction_id, customer_id, reason
            FROM trueup_run_undecided WHERE run_seq = ?
            ORDER BY bundle_id, environment, original_transaction_id
            """
        try forEachRow("undecided rows", sql, [sequence]) { row in
            guard let reason = UndecidedReason(rawValue: row.requiredText(at: 4)) else { return }
            try body(
                UndecidedRow(
                    key: SubscriptionKey(row, at: 0), customerID: row.text(at: 3), reason: reason))
        }
    }

    package func forEachNotFound(_ body: (NotFoundAccount) throws -> Void) throws {
        let sql = """
            SELECT n.bundle_id, n.environment, n.original_transaction_id, n.customer_id,
                n.first_day, n.last_day, n.distinct_days,
                n.distinct_days >= (SELECT not_found_confirmations FROM trueup_runs AS r
                    WHERE r.run_seq = n.run_seq),
                n.status, n.last_good_as_of, n.last_good_evidence
            FROM trueup_run_not_found AS n WHERE n.run_seq = ?
            ORDER BY n.bundle_id, n.environment, n.original_transaction_id
            """
        try forEachRow("accounts that Apple did not find", sql, [sequence]) { row in
            try body(
                NotFoundAccount(
                    key: SubscriptionKey(row, at: 0), customerID: row.text(at: 3),
                    absence: AbsenceRecord(
                        firstDay: row.requiredText(at: 4), lastDay: row.requiredText(at: 5),
                        distinctDays: row.number(at: 6) ?? 1),
                    isConfirmed: row.integer(at: 7) == 1, status: row.number(at: 8),
                    lastGoodAsOf: row.time(at: 9),
                    lastGoodEvidence: row.text(at: 10).map(EvidenceDigest.init(hexadecimal:))))
        }
    }

    package func forEachNotification(_ body: (NotificationAudit) throws -> Void) throws {
        let sql = """
            SELECT bundle_id, environment, notification_uuid, notification_type, subtype,
                signed_date, original_transaction_id, attempts, last_attempt_result, verdict,
                evidence
            FROM trueup_pass_notifications WHERE pass_id = ? AND staged_by <= ?
            ORDER BY bundle_id, environment, signed_date, notification_uuid
            """
        try forEachRow("notifications", sql, [passID, sequence]) { row in
            guard let environment = AppStoreEnvironment(rawValue: row.requiredText(at: 1)) else {
                return
            }
            try body(
                NotificationAudit(
                    app: AppIdentity(
                        bundleID: row.requiredText(at: 0), environment: environment),
                    notificationUUID: row.requiredText(at: 2),
                    notificationType: row.requiredText(at: 3), subtype: row.text(at: 4),
                    signedDate: row.time(at: 5) ?? Timestamp(unixMilliseconds: 0),
                    originalTransactionID: row.text(at: 6), attempts: row.number(at: 7) ?? 0,
                    lastAttemptResult: row.text(at: 8), verdict: row.requiredText(at: 9),
                    evidence: EvidenceDigest(hexadecimal: row.requiredText(at: 10))))
        }
    }

    package func forEachEvidence(_ body: (ReportedEvidence) throws -> Void) throws {
        let sql = """
            SELECT f.evidence AS digest FROM trueup_run_findings AS r
            JOIN trueup_pass_findings AS f ON f.finding_seq = r.finding_seq
            WHERE r.run_seq = ?1 AND f.evidence IS NOT NULL
            UNION SELECT l.evidence FROM \(ReportedEntries.source) AS s
            JOIN trueup_ledger AS l ON l.entry = s.entry WHERE s.run_id = ?2
            UNION SELECT l.evidence_renewal FROM \(ReportedEntries.source) AS s
            JOIN trueup_ledger AS l ON l.entry = s.entry
            WHERE s.run_id = ?2 AND l.evidence_renewal IS NOT NULL
            UNION SELECT evidence FROM trueup_pass_corrections
            WHERE pass_id = ?3 AND staged_by <= ?1 AND ifnull(superseded_by > ?1, 1)
            UNION SELECT evidence_renewal FROM trueup_pass_corrections
            WHERE pass_id = ?3 AND staged_by <= ?1 AND ifnull(superseded_by > ?1, 1)
                AND evidence_renewal IS NOT NULL
            UNION SELECT evidence FROM trueup_pass_notifications
            WHERE pass_id = ?3 AND staged_by <= ?1 AND verdict IN ('missed', 'lost')
            ORDER BY digest
            """
        try store.stream("reading evidence") { db in
            let vault = EvidenceVault(db: db)
            let digests = try String.fetchCursor(
                db, sql: sql, arguments: [sequence, runID, passID])
            while let digest = try digests.next() {
                if let evidence = try vault.reported(EvidenceDigest(hexadecimal: digest)) {
                    try body(evidence)
                }
            }
        }
    }

    private func forEachRow(
        _ what: String, _ sql: String, _ arguments: StatementArguments, _ body: (Row) throws -> Void
    ) throws {
        try store.stream("reading \(what) of \(runID)") { db in
            let rows = try Row.fetchCursor(db, sql: sql, arguments: arguments)
            while let row = try rows.next() { try body(row) }
        }
    }
}

extension EvidenceVault {
    /// A payload or its tombstone, as a report shows it; `nil` where neither is there.
    fileprivate func reported(_ digest: EvidenceDigest) throws -> ReportedEvidence? {
        if let payload = try payload(digest) { return .payload(payload) }
        return try tombstone(digest).map { .erased($0) }
    }
}

extension SQLiteStore {
    /// What a concluded run reported.
    ///
    /// - Throws: `.unavailable` when there is no such run, or it was never concluded.
    package func runRecord(ofRun runID: String) throws(StoreError) -> SQLiteRunRecord {
        do {
            return try stream("looking for the run \(runID)") { db in
                let found = try Row.fetchOne(
                    db,
                    sql: """
                        SELECT run_seq, pass_id, ended, lists_deleted_at FROM trueup_runs
                        WHERE run_id = ?
                        """,
                    arguments: [runID])
                guard let found, let sequence = found.integer(at: 0) else {
                    if let text = try Self.declaration(reportedAs: runID, db) {
                        throw StoreError.unavailable(text)
                    }
                    throw StoreError.unavailable(
                        "There is no run \(runID) in this database. `trueup status` lists them.")
                }
                guard found.integer(at: 2) != nil else {
                    throw StoreError.unavailable(
                        "The run \(runID) was killed before its end and left no report; what it "
                            + "corrected stands in the report of the run after it.")
                }
                guard found.integer(at: 3) == nil else {
                    throw StoreError.unavailable(
                        "What the run \(runID) listed is past `retention` and was deleted; its "
                            + "report folder is what is left of it.")
                }
                return SQLiteRunRecord(
                    store: self, runID: runID, sequence: sequence,
                    passID: found.integer(at: 1) ?? 0)
            }
        } catch {
            throw StoreError(error, doing: "looking for the run \(runID)")
        }
    }
}
