import GRDB
import Subscriptions

/// Puts the rows of a job's open findings on the agenda where a check, or a run that left out rows,
/// was the last to look at them.
///
/// Such a run leaves no note of how it judged the row. Where the company mends the row by itself, it
/// is again what was judged before, and nothing else asks about it; nor does anything where it was
/// Apple that changed it. It is done before the run is recorded: what a killed process leaves, the
/// next run does again.
struct FindingsOfChecks: Sendable {
    let run: RunHeader

    private var narrowing: String { TextList.encode(run.narrowing) }

    /// That the run `r` leaves no notes about the rows that it judges.
    private static let notesNothing = """
        (r.mode = '\(RunMode.check.rawValue)' OR r.narrowing <> ''
            AND instr(replace(char(10) || r.narrowing,
                char(10) || '\(RunHeader.appNarrowing)', ''), char(10)) > 0)
        """

    /// Whether there was such a run since the last one that is as this one.
    ///
    /// A check over every row looks at all of them anyway.
    func isNeeded(_ db: Database) throws -> Bool {
        guard run.judgesRows, run.leavesOutNothingOfItsApps,
            run.worksOffAgenda || !run.coversEveryRow
        else { return false }
        return try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM trueup_runs AS r
                    WHERE \(Self.notesNothing)
                        AND r.pass_id NOT IN (SELECT pass_id FROM trueup_applications)
                        AND r.run_seq >= ifnull((SELECT max(run_seq) FROM trueup_runs
                            WHERE job = ? AND mode = ? AND narrowing = ? AND pass_id NOT IN
                                (SELECT pass_id FROM trueup_applications)), 0))
                """, arguments: [run.job, run.mode.rawValue, narrowing]) ?? false
    }

    /// Asks about the rows of a chunk of findings; returns the id with which the next one begins.
    func ask(from first: String, _ db: Database) throws -> String? {
        let next = try FindingLook.next(after: StoreLimits.scatteredRowsPerChunk, from: first, db)
        let reason = QuestionReason.heldBack
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO trueup_agenda
                SELECT s.bundle_id, s.environment, s.original_transaction_id, ?1, ?2, ?3, NULL, 0
                FROM trueup_findings AS h
                JOIN subscriptions AS s ON s.bundle_id = h.bundle_id
                    AND s.environment = h.environment
                    AND s.original_transaction_id = h.original_transaction_id
                -- What was never judged is asked about anyway.
                JOIN trueup_checks AS c ON c.bundle_id = h.bundle_id
                    AND c.environment = h.environment
                    AND c.original_transaction_id = h.original_transaction_id
                WHERE h.state IN \(FindingLook.unresolved)
                    AND h.finding_id >= ?4 AND h.finding_id < ?5
                    AND EXISTS (SELECT 1 FROM trueup_finding_jobs AS j
                        WHERE j.finding_id = h.finding_id AND j.job = ?6)
                    AND \(FindingLook.isOfAnApp(narrowing: "?7"))
                    AND EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                        JOIN trueup_runs AS r ON r.pass_id = f.pass_id
                        WHERE f.pass_id = h.last_pass_id AND f.finding_id = h.finding_id
                            AND f.superseded_by IS NULL AND f.is_carried = 0
                            AND \(Self.notesNothing))
                """,
            arguments: [
                reason.rank, AgendaLine.turn(reason, isEntitling: true),
                run.started.unixMilliseconds, first, next ?? "~", run.job, narrowing,
            ])
        return next
    }
}
