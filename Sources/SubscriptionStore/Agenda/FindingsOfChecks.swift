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
        try FindingQuestions(run: run).ask(
            from: first,
            // What was never judged is asked about anyway.
            where: """
                EXISTS (SELECT 1 FROM trueup_checks AS c
                    WHERE c.bundle_id = h.bundle_id AND c.environment = h.environment
                        AND c.original_transaction_id = h.original_transaction_id)
                AND EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                    JOIN trueup_runs AS r ON r.pass_id = f.pass_id
                    WHERE f.pass_id = h.last_pass_id AND f.finding_id = h.finding_id
                        AND f.superseded_by IS NULL AND f.is_carried = 0
                        AND \(Self.notesNothing))
                """, db)
    }
}
