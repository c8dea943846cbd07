import GRDB
import Subscriptions

/// Open findings of the job's earlier nights that nobody looked at in a pass: they are still true, as
/// far as anybody knows, and every report of the job says so until a look finds them mended.
///
/// What the pass has found again itself, perhaps of a later period, is not repeated beside it.
/// Another job may have seen them since: what it said last is what is carried.
struct CarriedFindings {
    let db: Database
    let passID: Int64
    let job: String
    /// As it is stored with the run.
    let narrowing: String

    /// Takes over a chunk of them; returns the id with which the next one begins.
    func carry(from first: String) throws -> String? {
        let next = try FindingLook.next(after: StoreLimits.correctionsPerChunk, from: first, db)
        // Nobody was asked about them tonight.
        let columns = FindingStaging.columns.filter { $0 != "action" && $0 != "asked_because" }
        let names = columns.joined(separator: ", ")
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO trueup_pass_findings (pass_id, \(names), action, is_carried)
                SELECT ?1, \(names), CASE action WHEN 'refused' THEN 'refused' ELSE 'none' END, 1
                FROM (SELECT f.*, row_number() OVER (PARTITION BY f.finding_id
                        ORDER BY f.superseded_by IS NOT NULL, f.is_carried, f.finding_seq DESC
                    ) AS place
                    FROM trueup_findings AS h
                    JOIN trueup_pass_findings AS f ON f.pass_id = h.last_pass_id
                        AND f.finding_id = h.finding_id
                        AND (f.superseded_by IS NULL OR f.is_carried = 1)
                        AND (f.pass_id <> ?1 OR f.is_carried = 1)
                    WHERE h.state IN \(FindingLook.unresolved)
                        AND h.finding_id >= ?2 AND h.finding_id < ?3
                        AND EXISTS (SELECT 1 FROM trueup_finding_jobs AS j
                            WHERE j.finding_id = h.finding_id AND j.job = ?4)
                        AND \(FindingLook.isOfAnApp(narrowing: "?5"))
                        AND h.kind NOT IN ('notification_missed', 'notification_lost')
                        AND NOT \(FindingLook.wasFound)
                        AND \(FindingLook.isAboutSomething) AND NOT \(FindingLook.wasLookedAt))
                WHERE place = 1
                """, arguments: [passID, first, next ?? "~", job, narrowing])
        try dropMended(from: first, to: next ?? "~")
        return next
    }

    /// What an unpublished report would have called open, and this pass found mended, is nobody's
    /// concern any more.
    ///
    /// Where it names no subscription, its source may show it only once: it is told all the same.
    private func dropMended(from first: String, to end: String) throws {
        try db.execute(
            sql: """
                UPDATE trueup_pass_findings AS f INDEXED BY trueup_pass_findings_owed
                SET superseded_by = (
                    SELECT max(run_seq) FROM trueup_runs WHERE pass_id = ?1)
                WHERE f.pass_id = ?1 AND f.finding_id >= ?2 AND f.finding_id < ?3
                    AND f.is_carried = \(OwedFindings.mark) AND f.superseded_by IS NULL
                    AND f.action NOT IN ('corrected', 'inserted', 'recovered')
                    AND f.kind NOT IN ('notification_missed', 'notification_lost')
                    AND EXISTS (SELECT 1 FROM trueup_findings AS h
                        WHERE h.finding_id = f.finding_id
                            AND h.original_transaction_id IS NOT NULL
                            AND (NOT \(FindingLook.isAboutSomething)
                                OR \(FindingLook.wasLookedAt)))
                """, arguments: [passID, first, end])
    }
}

/// Puts the rows of a job's open findings on the agenda, a chunk of findings at a time.
struct FindingQuestions: Sendable {
    let run: RunHeader

    /// Asks about the rows of a chunk of findings `h`, stored as `s`, of which a condition in SQL holds;
    /// returns the id with which the next one begins.
    func ask(from first: String, where condition: String, _ db: Database) throws -> String? {
        let next = try FindingLook.next(after: StoreLimits.scatteredRowsPerChunk, from: first, db)
        let reason = QuestionReason.heldBack
        try db.execute(
            sql: """
                \(AgendaLines.insertion)
                SELECT s.bundle_id, s.environment, s.original_transaction_id, ?1, ?2, ?3, 0
                FROM trueup_findings AS h
                JOIN subscriptions AS s ON s.bundle_id = h.bundle_id
                    AND s.environment = h.environment
                    AND s.original_transaction_id = h.original_transaction_id
                WHERE h.state IN \(FindingLook.unresolved)
                    AND h.finding_id >= ?4 AND h.finding_id < ?5
                    AND EXISTS (SELECT 1 FROM trueup_finding_jobs AS j
                        WHERE j.finding_id = h.finding_id AND j.job = ?6)
                    AND \(FindingLook.isOfAnApp(narrowing: "?7"))
                    AND \(condition)
                \(AgendaLines.wakingUp)
                """,
            arguments: [
                reason.rank, AgendaLine.turn(reason, isEntitling: true),
                run.started.unixMilliseconds, first, next ?? "~", run.job,
                TextList.encode(run.narrowing),
            ])
        return next
    }
}

/// Puts the rows of a job's open findings on the agenda where the settings that decide what is
/// corrected are no longer those of its run before.
///
/// Their lines left it when nothing was to be corrected, and the row gives no other reason to ask.
/// It is done before the run is recorded: what a killed process leaves, the next run does again.
struct FindingsDecidedAnew: Sendable {
    let run: RunHeader

    private var narrowing: String { TextList.encode(run.narrowing) }

    /// Whether the run decides by other settings than the one of its kind before it.
    func isNeeded(_ db: Database) throws -> Bool {
        guard run.worksOffAgenda else { return false }
        let before = try String.fetchOne(
            db,
            sql: """
                SELECT settings_digest FROM trueup_runs
                WHERE job = ? AND mode = ? AND narrowing = ?
                    AND pass_id NOT IN (SELECT pass_id FROM trueup_applications)
                ORDER BY run_seq DESC LIMIT 1
                """, arguments: [run.job, run.mode.rawValue, narrowing])
        return before.map { $0 != run.settingsDigest } ?? false
    }

    /// Asks about the rows of a chunk of findings; returns the id with which the next one begins.
    func ask(from first: String, _ db: Database) throws -> String? {
        try FindingQuestions(run: run).ask(
            from: first, where: "h.kind IN (\(Self.kinds))", db)
    }

    private static let kinds = FindingKind.allCases.filter(\.isMendedByAnswer)
        .map { "'\($0.rawValue)'" }.joined(separator: ", ")
}

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
