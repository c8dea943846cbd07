import GRDB
import Subscriptions

/// Writes how a run ended: its lists in chunks, then its last transaction.
struct RunConclusionWriter: Sendable {
    let run: RunReference
    let header: RunHeader
    var conclusion: RunConclusion

    /// The last transaction of the run: after it, the run has ended.
    func write(_ tally: ConclusionTally, _ db: Database) throws {
        try Acknowledgements(db: db).mark(run: run, at: header.started)
        try ReportedEntries(db: db).showRest(byRun: header.runID)
        if header.mode == .apply, !tally.leavesPlanOpen { try noteAppliedPlan(db) }
        for count in tally.counts {
            try db.execute(
                sql: "INSERT INTO trueup_run_totals VALUES (?, ?, ?, ?)",
                arguments: [run.sequence, count.verdict, count.reason, count.rows])
        }
        try tally.evidence.cost.store(
            ofRun: run.sequence, lastEvidenceID: tally.evidence.lastEvidenceID, db)
        try EntitlementChanges(db: db).close(run: run.sequence)
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
        try FindingMemory.noteMissing(
            ofRun: run.sequence,
            resolves: conclusion.closesPass && header.leavesOutNothingOfItsApps && judgesRows(db),
            db)
        try end(tally, db)
    }

    /// Whether the run checked rows itself, rather than working off a plan or reverting a run.
    private func judgesRows(_ db: Database) throws -> Bool {
        try !db.holds("trueup_applications WHERE pass_id = ?", [run.passID])
    }

    /// Records that a plan was applied to its end: only rows that changed meanwhile are left of it.
    ///
    /// A run that was to apply an earlier plan and did not come to adopt all of it has applied
    /// none.
    private func noteAppliedPlan(_ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE trueup_plans AS p SET applied_by = ?1, applied_at = ?2
                WHERE p.plan = (SELECT plan FROM trueup_run_plans WHERE run_seq = ?3)
                    AND p.applied_by IS NULL
                    AND (?4 OR EXISTS (SELECT 1 FROM trueup_applications AS a
                        WHERE a.pass_id = ?5 AND (a.undo_of IS NOT NULL OR a.plan = p.plan)))
                """,
            arguments: [
                header.runID, conclusion.ended.unixMilliseconds, run.sequence, header.judgesRows,
                run.passID,
            ])
    }

    private func end(_ tally: ConclusionTally, _ db: Database) throws {
        var coverage = conclusion.coverage
        coverage?.table = tally.table
        try db.execute(
            sql: """
                UPDATE trueup_runs SET ended = ?, exit_status = ?, statuses = ?, messages = ?,
                    limits = ?, closes_pass = ?, ledger_head = ?, coverage = ?, found = ?,
                    control = ?, measures = ?
                WHERE run_seq = ? AND ended IS NULL
                """,
            arguments: [
                conclusion.ended.unixMilliseconds, conclusion.exitStatus.rawValue,
                TextList.encode(conclusion.statuses.map(\.rawValue)),
                TextList.encode(conclusion.messages), TextList.encode(conclusion.limits),
                conclusion.closesPass, try Ledger(db: db).head().hash,
                StoredJSON.encode(coverage),
                try StoredJSON.encode(tally.figures), tally.control, tally.measures,
                run.sequence,
            ])
        guard db.changesCount == 1 else {
            throw StoreError.inconsistent(
                "The run \(header.runID) has ended before. Nothing was written. This is a fault of "
                    + "trueup, please report it.")
        }
        // Also where the checkpoint stays open for a retry: what the stopped run planned is a
        // matter of the checkpoint, and the pending checks of it is on the queue.
        if header.goesRound, conclusion.endsRound {
            // A scan over all apps has checked the rows of each, whatever a run for some had left.
            try db.execute(
                sql: """
                    DELETE FROM trueup_rounds
                    WHERE job = ?1 OR ?2 AND instr(job, ?1 || char(10)) = 1
                    """,
                arguments: [PassOpening.round(of: header), header.filters.isEmpty])
        }
        guard conclusion.closesPass else { return }
        try db.execute(
            sql: "UPDATE trueup_passes SET state = 'closed' WHERE pass_id = ?",
            arguments: [run.passID])
    }
}

/// The counts over all rows of a checkpoint, read before the concluding transaction takes the lock:
/// nothing else changes them while the run lasts.
struct ConclusionTally: Sendable {
    let counts: [(verdict: Int64, reason: String, rows: Int)]
    /// Where each row of the table is counted; `nil` for a run that checked none.
    let table: RunCoverage.TableCount?
    let evidence: (cost: EvidenceCost, lastEvidenceID: Int64)
    let figures: RunFigures
    /// The control totals and the measures, as they are stored with the run.
    let control: String?
    let measures: String?
    /// Whether some correction of the plan is neither written nor stale.
    let leavesPlanOpen: Bool

    init(of writer: RunConclusionWriter, unowned: [String: Int]?, _ db: Database) throws {
        let (run, header, conclusion) = (writer.run, writer.header, writer.conclusion)
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT verdict, ifnull(reason, ''), count(*) FROM trueup_pass_rows
                WHERE pass_id = ?1 AND verdict IN (
                    \(VerdictCode.match.rawValue), \(VerdictCode.discrepancy.rawValue),
                    \(VerdictCode.excluded.rawValue))
                GROUP BY verdict, reason
                UNION ALL
                SELECT \(VerdictCode.undecided.rawValue), reason, count(*)
                FROM trueup_run_undecided WHERE run_seq = ?2 GROUP BY reason
                """,
            arguments: [run.passID, run.sequence])
        counts = rows.map { row in
            (row.integer(at: 0) ?? 0, row.requiredText(at: 1), row.number(at: 2) ?? 0)
        }
        table =
            conclusion.coverage == nil
            ? nil : try writer.countRows(inScope: counts.reduce(0) { $0 &+ $1.rows }, db)
        evidence = try EvidenceCost.sinceLastRun(db)
        figures = try RunSummaryReader(db: db, sequence: run.sequence).figures()
        control = try StoredJSON.encode(ControlCount(db: db, header: header).end(of: run))
        let delivery = try DeliveryDelays(of: run, started: header.started, db)
        let refused = conclusion.refusedApps.sorted().map(\.name)
        measures = try StoredJSON.encode(
            RunMeasures(
                delivery: delivery, effort: conclusion.effort, unowned: unowned,
                databasePauses: conclusion.databasePauses,
                purchases: conclusion.coverage == nil ? nil : writer.countPurchases(db),
                refusedApps: refused.isEmpty ? nil : refused))
        leavesPlanOpen =
            try db.holds(
                """
                trueup_pass_corrections
                    WHERE pass_id = ? AND superseded_by IS NULL
                        AND fate NOT IN ('applied', 'stale')
                """, [run.passID])
    }
}
