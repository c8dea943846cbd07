import GRDB
import Subscriptions

/// The last transaction of a run: after it, the run has ended.
struct RunConclusionWriter {
    let db: Database
    let run: RunReference
    let header: RunHeader
    let conclusion: RunConclusion
    let tally: ConclusionTally

    func write() throws {
        try reportFindings()
        try HeldBackCauses(db: db, run: run).write()
        try Acknowledgements(db: db).mark(run: run, at: header.started)
        try rememberFindings()
        if conclusion.closesPass, header.narrowing.isEmpty, try judgesRows() {
            try FindingResolution(db: db, passID: run.passID).write()
        }
        try reportEntries()
        try noteAppliedPlan()
        try countRows()
        try EvidenceAccount(db: db).close(run: run.sequence, tally.evidence)
        try RunCauses(db: db).write(conclusion.causes, of: run, started: header.started)
        for (position, count) in conclusion.calls.enumerated() {
            try db.execute(
                sql: "INSERT INTO trueup_run_calls VALUES (?, ?, ?, ?, ?)",
                arguments: [run.sequence, position, count.endpoint, count.result, count.calls])
        }
        if let rows = conclusion.acceptedTableRows {
            try db.execute(
                sql: "INSERT INTO trueup_table_sizes VALUES (?, ?)",
                arguments: [run.sequence, rows])
        }
        try end()
    }

    /// Fixes what became of each finding of the pass, and where it stands over the nights.
    private func reportFindings() throws {
        try db.execute(
            sql: """
                INSERT INTO trueup_run_findings (run_seq, finding_seq, state, action, first_seen)
                SELECT ?, f.finding_seq,
                    CASE WHEN c.fate = 'applied'
                            OR f.action IN ('corrected', 'inserted', 'recovered') THEN 'corrected'
                        WHEN h.corrected_by IS NOT NULL THEN 'recurring'
                        WHEN h.finding_id IS NOT NULL THEN 'open' ELSE 'new' END,
                    CASE WHEN c.fate IS NULL THEN f.action
                        WHEN c.fate = 'applied' AND c.target = 'update' THEN 'corrected'
                        WHEN c.fate = 'applied' THEN 'inserted'
                        WHEN c.fate = 'planned' THEN 'planned' ELSE 'refused' END,
                    ifnull(h.first_seen, ?)
                FROM trueup_pass_findings AS f
                LEFT JOIN trueup_pass_corrections AS c ON c.correction_id = f.correction_id
                LEFT JOIN trueup_findings AS h ON h.finding_id = f.finding_id
                WHERE f.pass_id = ? AND f.superseded_by IS NULL
                """,
            arguments: [run.sequence, header.started.unixMilliseconds, run.passID])
    }

    /// Whether the run judged rows itself, rather than working off a plan or taking a run back.
    private func judgesRows() throws -> Bool {
        try Int.fetchOne(
            db, sql: "SELECT 1 FROM trueup_applications WHERE pass_id = ?",
            arguments: [run.passID]) == nil
    }

    /// Shows every entry that no report has shown.
    ///
    /// Each run shows all there are, and takes up those of the last one alone: what no report has
    /// shown is always the ledger's end.
    private func reportEntries() throws {
        try db.execute(
            sql: """
                INSERT INTO trueup_reported_entries
                SELECT entry, ? FROM trueup_ledger
                WHERE entry > ifnull((SELECT max(entry) FROM trueup_reported_entries), 0)
                """,
            arguments: [header.runID])
    }

    /// Notes that a plan has been gone through to its end: what is left of it are rows that moved.
    private func noteAppliedPlan() throws {
        guard header.mode == .apply else { return }
        try db.execute(
            sql: """
                UPDATE trueup_plans SET applied_by = ?1, applied_at = ?2
                WHERE plan = (SELECT plan FROM trueup_run_plans WHERE run_seq = ?3)
                    AND applied_by IS NULL
                    AND NOT EXISTS (SELECT 1 FROM trueup_pass_corrections
                        WHERE pass_id = ?4 AND superseded_by IS NULL
                            AND fate NOT IN ('applied', 'stale'))
                """,
            arguments: [
                header.runID, conclusion.ended.unixMilliseconds, run.sequence, run.passID,
            ])
    }

    private func rememberFindings() throws {
        try db.execute(
            sql: """
                INSERT INTO trueup_findings
                SELECT f.finding_id, f.kind, f.severity, f.bundle_id, f.environment,
                    f.original_transaction_id, r.first_seen, ?, f.pass_id,
                    CASE WHEN r.state = 'corrected' THEN r.run_seq END, r.state
                FROM trueup_run_findings AS r
                JOIN trueup_pass_findings AS f ON f.finding_seq = r.finding_seq
                WHERE r.run_seq = ?
                ON CONFLICT (finding_id) DO UPDATE SET
                    severity = excluded.severity, last_seen = excluded.last_seen,
                    last_pass_id = excluded.last_pass_id, state = excluded.state,
                    corrected_by = ifnull(excluded.corrected_by, corrected_by)
                """,
            arguments: [header.started.unixMilliseconds, run.sequence])
    }

    private func countRows() throws {
        for count in tally.counts {
            try db.execute(
                sql: "INSERT INTO trueup_run_totals VALUES (?, ?, ?, ?)",
                arguments: [run.sequence, count.verdict, count.reason, count.rows])
        }
    }

    private func end() throws {
        try db.execute(
            sql: """
                UPDATE trueup_runs SET ended = ?, exit_status = ?, statuses = ?, messages = ?,
                    limits = ?, closes_pass = ?, ledger_head = ?
                WHERE run_seq = ? AND ended IS NULL
                """,
            arguments: [
                conclusion.ended.unixMilliseconds, conclusion.exitStatus.rawValue,
                TextList.encode(conclusion.statuses.map(\.rawValue)),
                TextList.encode(conclusion.messages), TextList.encode(conclusion.limits),
                conclusion.closesPass, try Ledger(db: db).head().hash, run.sequence,
            ])
        guard db.changesCount == 1 else {
            throw StoreError.inconsistent("The run \(header.runID) has been concluded before.")
        }
        guard conclusion.closesPass else { return }
        try db.execute(
            sql: "UPDATE trueup_passes SET state = 'closed' WHERE pass_id = ?",
            arguments: [run.passID])
    }
}
