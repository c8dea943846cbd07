import Foundation
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
        try forEachRow(
            "findings", Self.findings(where: "r.run_seq = ?") + ", ifnull(f.transaction_id, '')",
            [sequence]
        ) { try body(Self.finding(&$0, ofRun: runID)) }
    }

    /// The findings of an earlier run and of this one side by side, in the order of a report.
    ///
    /// - Parameters:
    ///   - earlier: A run of the same database.
    ///   - body: Is handed what both runs say of one finding, `nil` where a run does not list it.
    /// - Throws: What reading the database, or `body`, throws.
    package func forEachFinding(
        comparedWith earlier: SQLiteRunRecord,
        _ body: (_ before: ReportedFinding?, _ after: ReportedFinding?) throws -> Void
    ) throws {
        guard earlier.sequence != sequence else { return try forEachFinding { try body($0, $0) } }
        let sql =
            Self.findings(where: "r.run_seq IN (?1, ?2)")
            + ", ifnull(f.transaction_id, ''), r.run_seq = ?2"
        var before: ReportedFinding?
        try store.stream("comparing the findings of \(earlier.runID) and \(runID)") { db in
            try db.forEachRow(sql, [earlier.sequence, sequence]) { row in
                var columns = RowColumns(row)
                var found = try Self.finding(&columns, ofRun: runID)
                let isEarlier = columns.integer() == earlier.sequence
                if let waiting = before, isEarlier || !waiting.isSame(as: found) {
                    try body(waiting, nil)
                    before = nil
                }
                if isEarlier {
                    found.runID = earlier.runID
                    before = found
                } else {
                    try body(before, found)
                    before = nil
                }
            }
        }
        if let before { try body(before, nil) }
    }

    private static func findings(where condition: String) -> String {
        """
        SELECT \(Finding.columns), f.finding_id, r.state, r.first_seen, r.action, k.cause,
            f.changed_at, r.run_seq
        FROM trueup_run_findings AS r
        JOIN trueup_pass_findings AS f ON f.finding_seq = r.finding_seq
        LEFT JOIN trueup_run_finding_causes AS k
            ON k.run_seq = r.run_seq AND k.finding_seq = r.finding_seq
        WHERE \(condition)
        ORDER BY f.bundle_id, f.environment, ifnull(f.original_transaction_id, ''), f.kind,
            ifnull(f.field, ''), f.finding_id
        """
    }

    private static func finding(
        _ row: inout RowColumns, ofRun runID: String
    ) throws -> ReportedFinding {
        let finding = try Finding(&row)
        var reported = ReportedFinding(
            findingID: row.requiredText(), runID: runID,
            state: FindingState(rawValue: row.requiredText()) ?? .new,
            firstSeen: row.requiredTime(), finding: finding)
        reported.finding.action = FindingAction(rawValue: row.requiredText()) ?? .none
        reported.finding.cause = row.text() ?? finding.cause
        reported.finding.changedAt = row.time()
        return reported
    }

    private static let reportedEntries = """
        SELECT \(LedgerEntry.columns) FROM \(ReportedEntries.source) AS r
        JOIN trueup_ledger AS l ON l.entry = r.entry
        WHERE r.run_id = ? ORDER BY l.entry
        """

    package func forEachCorrection(_ body: (LedgerEntry) throws -> Void) throws {
        try forEachRow("corrections", Self.reportedEntries, [runID]) { try body(LedgerEntry(&$0)) }
    }

    /// As `LedgerEntry.isPlainNewPeriod`.
    private static let isPlainNewPeriod = """
        (l.target_table = '\(ChangeSet.Table.transactions.rawValue)' AND l.kinds = ''
            AND l.undo_of IS NULL AND ifnull(l.action, '') = '\(RowAction.insert.rawValue)')
        """

    package func forEachEvidencedCorrection(
        where isNeeded: (LedgerEntry) -> Bool, _ body: (ReportedCorrection) throws -> Void
    ) throws -> Int {
        let entries = """
            FROM \(ReportedEntries.source) AS r JOIN trueup_ledger AS l ON l.entry = r.entry
            WHERE r.run_id = ?
            """
        return try store.stream("reading corrections of \(runID)") { db in
            let vault = EvidenceVault(db: db)
            try db.forEachRow(
                """
                SELECT \(LedgerEntry.columns) \(entries) AND NOT \(Self.isPlainNewPeriod)
                ORDER BY l.entry
                """, [runID]
            ) { row in
                var correction = ReportedCorrection(entry: try LedgerEntry(row))
                guard isNeeded(correction.entry) else { return }
                if correction.entry.statedStatus != nil {
                    correction.transaction = try vault.reported(correction.entry.evidence)
                    correction.renewal = try correction.entry.evidenceRenewal.flatMap {
                        try vault.reported($0)
                    }
                }
                try body(correction)
            }
            return try db.count("SELECT count(*) \(entries) AND \(Self.isPlainNewPeriod)", [runID])
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
            let correction = try PlannedCorrection(&row)
            try body(correction, CorrectionFate(rawValue: row.requiredText()) ?? .planned)
        }
    }

    package func forEachUndecided(_ body: (UndecidedRow) throws -> Void) throws {
        let sql = """
            SELECT bundle_id, environment, original_transaction_id, customer_id, reason
            FROM trueup_run_undecided WHERE run_seq = ?
            ORDER BY bundle_id, environment, original_transaction_id
            """
        try forEachRow("undecided rows", sql, [sequence]) { row in
            let (key, customerID) = (row.key(), row.text())
            guard let reason = UndecidedReason(rawValue: row.requiredText()) else { return }
            try body(UndecidedRow(key: key, customerID: customerID, reason: reason))
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
                    key: row.key(), customerID: row.text(),
                    absence: AbsenceRecord(
                        firstDay: row.requiredText(), lastDay: row.requiredText(),
                        distinctDays: row.number() ?? 1),
                    isConfirmed: row.flag(), status: row.number(), lastGoodAsOf: row.time(),
                    lastGoodEvidence: row.digest()))
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
            let bundleID = row.requiredText()
            guard let environment = AppStoreEnvironment(rawValue: row.requiredText()) else {
                return
            }
            try body(
                NotificationAudit(
                    app: AppIdentity(bundleID: bundleID, environment: environment),
                    notificationUUID: row.requiredText(), notificationType: row.requiredText(),
                    subtype: row.text(), signedDate: row.requiredTime(),
                    originalTransactionID: row.text(), attempts: row.number() ?? 0,
                    lastAttemptResult: row.text(), verdict: row.requiredText(),
                    evidence: row.requiredDigest()))
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

    func forEachRow(
        _ what: String, _ sql: String, _ arguments: StatementArguments,
        _ body: (inout RowColumns) throws -> Void
    ) throws {
        try store.stream("reading \(what) of \(runID)") { db in
            try db.forEachRow(sql, arguments) { row in
                var columns = RowColumns(row)
                try body(&columns)
            }
        }
    }
}

extension ReportedFinding {
    /// Whether another run reports the same finding.
    fileprivate func isSame(as other: ReportedFinding) -> Bool {
        findingID == other.findingID && finding.transactionID == other.finding.transactionID
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
    /// The record of a run.
    ///
    /// - Parameters:
    ///   - runID: The run.
    ///   - isGoingOn: Whether the caller is that run and reads its plan before it has concluded.
    /// - Returns: What is stored of it.
    /// - Throws: `.unavailable` when there is no such run, or it was never concluded.
    package func runRecord(
        ofRun runID: String, isGoingOn: Bool = false
    ) throws(StoreError) -> SQLiteRunRecord {
        try view("looking for the run \(runID)") { db in
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
            guard isGoingOn || found.integer(at: 2) != nil else {
                throw StoreError.unavailable(
                    "The run \(runID) was killed before its end and left no report. The report "
                        + "of the run after it lists its corrections.")
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
    }
}

/// Which entries of the ledger the reports of runs have shown.
struct ReportedEntries {
    let db: Database

    /// Entries with the runs that showed them, as a source to select from: `entry`, `run_id`.
    static let source = """
        (SELECT x.entry, s.run_id FROM trueup_reported_ranges AS s
            JOIN trueup_ledger AS x ON x.entry BETWEEN s.first_entry AND s.last_entry)
        """

    /// The newest entry that a report has shown; 0 for none.
    func last() throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT max(last_entry) FROM trueup_reported_ranges") ?? 0
    }

    /// Assigns every entry that no report has shown to this run.
    ///
    /// A run takes all of them, and gives back only those of the run before it, so unreported
    /// entries are always at the end of the ledger.
    func showRest(byRun runID: String) throws {
        try db.execute(
            sql: """
                INSERT INTO trueup_reported_ranges
                SELECT ?, min(entry), max(entry) FROM trueup_ledger WHERE entry > ?
                HAVING count(*) > 0
                """,
            arguments: [runID, try last()])
    }

    /// Notes that the report of a run shows an entry, the next one behind those noted before.
    func noteShown(_ entry: Int64, byRun runID: String) throws {
        try db.executeCached(
            """
            UPDATE trueup_reported_ranges SET last_entry = ?2
            WHERE run_id = ?1 AND last_entry = ?2 - 1
            """, [runID, entry])
        guard db.changesCount == 0 else { return }
        try db.executeCached(
            "INSERT OR IGNORE INTO trueup_reported_ranges VALUES (?1, ?2, ?2)", [runID, entry])
    }

    /// Assigns one entry to this run alone, and removes it from a run that had it alone.
    func show(_ entry: Int64, byRun runID: String) throws {
        try db.execute(
            sql: "DELETE FROM trueup_reported_ranges WHERE first_entry = ?1 AND last_entry = ?1",
            arguments: [entry])
        try db.execute(
            sql: "INSERT INTO trueup_reported_ranges VALUES (?, ?, ?)",
            arguments: [runID, entry, entry])
    }

    /// Releases the entries of runs whose reports were never published.
    func releaseUnpublished(except runID: String) throws {
        try db.execute(
            sql: """
                DELETE FROM trueup_reported_ranges WHERE run_id IN (
                    SELECT run_id FROM trueup_awaited_reports WHERE run_id <> ?)
                """,
            arguments: [runID])
    }

    /// Forgets the unpublished runs, whose entries and findings another run has adopted.
    ///
    /// - Parameters:
    ///   - runID: The run that took them over.
    ///   - judgedRows: Whether it adopted findings as well. Otherwise only those are forgotten that
    ///     worked off a plan or reverted a run.
    /// - Throws: An error of the database.
    func forgetUnpublished(except runID: String, judgedRows: Bool) throws {
        let forgotten = try String.fetchAll(
            db,
            sql: """
                DELETE FROM trueup_awaited_reports WHERE run_id <> ?1
                    AND (?2 OR run_id IN (SELECT r.run_id FROM trueup_runs AS r
                        JOIN trueup_applications AS u ON u.pass_id = r.pass_id))
                RETURNING run_id
                """, arguments: [runID, judgedRows])
        for run in forgotten {
            try EntitlementChanges(db: db).forget(run)
            try noteMissing(
                reportOf: run, because: "the process was ended before the report was complete")
        }
    }

    /// The end of a run that left no report: none that ended comes to this by itself.
    static let endWithoutReport = ExitStatus.output

    /// Notes that an ended run left no report, so that no command calls it successful.
    ///
    /// - Parameters:
    ///   - runID: The run; one that did not end, or is noted already, stays as it is.
    ///   - reason: As a part of a sentence.
    /// - Throws: An error of the database.
    func noteMissing(reportOf runID: String, because reason: String) throws {
        let end = Self.endWithoutReport
        let message =
            "The report of this run was not written (exit status \(end.code)): \(reason). The next "
            + "report shows its corrections and what it found."
        try db.execute(
            sql: """
                UPDATE trueup_runs SET exit_status = ?1,
                    statuses = ?1 || iif(statuses = '', '', char(10) || statuses),
                    messages = ?2 || iif(messages = '', '', char(10) || messages)
                WHERE run_id = ?3 AND ended IS NOT NULL AND exit_status <> ?1
                """,
            arguments: [end.rawValue, TextList.encode([message]), runID])
    }
}

extension RunSummaryReader {
    /// The findings by kind and the money of the run.
    func figures() throws -> RunFigures {
        var kinds: [String: Int] = [:]
        for count in try findings() { kinds[count.kind.rawValue, default: 0] += count.findings }
        return RunFigures(kinds: kinds, money: try money())
    }
}

extension SQLiteRunRecord {
    /// Runs of the same job and mode that checked rows themselves, oldest first.
    ///
    /// Runs exclude each other, so that those which began before this one had all ended, or were
    /// killed, and nothing of them changes later.
    package func forEachEarlierRun(
        since first: Timestamp, _ body: (EarlierRun) throws -> Void
    ) throws {
        try store.stream("reading the runs before \(runID)") { db in
            try db.forEachRow(
                """
                SELECT e.run_id, e.started, CASE WHEN e.ended IS NULL THEN NULL
                        ELSE e.exit_status END,
                    e.narrowing, e.coverage, e.found, e.run_seq, e.measures, r.narrowing
                FROM trueup_runs AS e
                JOIN trueup_runs AS r ON r.job = e.job AND r.mode = e.mode
                WHERE r.run_seq = ?1 AND e.run_seq < ?1 AND e.started >= ?2
                    AND e.started < r.started
                    AND NOT EXISTS (SELECT 1 FROM trueup_applications AS a
                        WHERE a.pass_id = e.pass_id)
                ORDER BY e.run_seq
                """, [sequence, first.unixMilliseconds]
            ) { row in
                let calls = try RunSummaryReader.calls(of: row.integer(at: 6) ?? 0, db)
                var run =
                    EarlierRun(
                        runID: row.requiredText(at: 0),
                        started: row.requiredTime(at: 1),
                        exitStatus: row.text(at: 2).flatMap(ExitStatus.init(rawValue:)),
                        isPartial: Self.isPartial(row),
                        totals: try RunSummaryReader.totals(of: row.integer(at: 6) ?? 0, db),
                        calls: calls.reduce(0) { $0 + $1.calls },
                        coverage: try StoredJSON.decode(row.text(at: 4)),
                        figures: try StoredJSON.decode(row.text(at: 5)))
                for count in calls {
                    run.callsByEndpoint[count.endpoint, default: 0] += count.calls
                }
                run.measures = try StoredJSON.decode(row.text(at: 7))
                run.isOfOtherApps = Self.isOfOtherApps(row)
                try body(run)
            }
        }
    }

    /// Whether an earlier run left out rows that this one is about.
    ///
    /// A run for some apps alone is held against those for the same apps.
    private static func isPartial(_ row: Row) -> Bool {
        let earlier = row.requiredText(at: 3)
        let isAlike =
            earlier == row.requiredText(at: 8)
            && RunHeader.isForAppsAlone(TextList.decode(earlier))
        return !earlier.isEmpty && !isAlike
    }

    /// Whether this run is for some apps alone, and the earlier one for others or for all.
    private static func isOfOtherApps(_ row: Row) -> Bool {
        let own = row.requiredText(at: 8)
        return row.requiredText(at: 3) != own && RunHeader.isForAppsAlone(TextList.decode(own))
    }

    /// The context of the report; `nil` for runs of versions that did not keep it.
    package func context() throws -> String? {
        try store.stream("reading the report's context of \(runID)") { db in
            try String.fetchOne(
                db, sql: "SELECT report_context FROM trueup_runs WHERE run_seq = ?",
                arguments: [sequence])
        }
    }
}

extension SQLiteStore {
    /// Keeps what the report of a run states next to the stored run, before it is written.
    package func keepReportContext(
        _ context: String, ofRun runID: String
    ) async throws(StoreError) {
        try await write("keeping what the report of \(runID) states") { db in
            try db.execute(
                sql: "UPDATE trueup_runs SET report_context = ? WHERE run_id = ?",
                arguments: [context, runID])
        }
    }

    /// Returns the contexts that `keepReportContext` stored with the reports of the newest runs;
    /// the newest first, without runs whose reports are not known to be published.
    ///
    /// - Parameter limit: How many at most.
    /// - Returns: Each with its run.
    /// - Throws: `StoreError` when the database cannot be read.
    package func newestReportContexts(
        _ limit: Int
    ) throws(StoreError) -> [(runID: String, context: String)] {
        let doing = "reading what the newest reports state"
        return try view(doing) { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT run_id, report_context FROM trueup_runs
                    WHERE report_context IS NOT NULL
                        AND run_id NOT IN (SELECT run_id FROM trueup_awaited_reports)
                    ORDER BY run_seq DESC LIMIT ?
                    """,
                arguments: [limit]
            ).map { ($0.requiredText(at: 0), $0.requiredText(at: 1)) }
        }
    }
}
