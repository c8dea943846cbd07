import GRDB
import Subscriptions

/// Updates the state of each finding from run to run, after a run has ended.
///
/// It is done after the run's last transaction, a chunk at a time, because it concerns everything
/// that was found. Each chunk may be done twice: what a killed process leaves, the next run does
/// before anything else.
struct FindingMemory: Sendable {
    let sequence: Int64
    /// Whether findings that the run looked for and did not find are closed.
    let resolves: Bool
    /// As it is stored with the run.
    let narrowing: String

    /// The oldest ended run whose findings are not recorded yet.
    static func next(_ db: Database) throws -> FindingMemory? {
        try Row.fetchOne(
            db,
            sql: """
                SELECT o.run_seq, o.resolves, r.narrowing FROM trueup_unremembered_runs AS o
                LEFT JOIN trueup_runs AS r ON r.run_seq = o.run_seq ORDER BY o.run_seq LIMIT 1
                """
        ).map { row in
            FindingMemory(
                sequence: row.integer(at: 0) ?? 0, resolves: row.integer(at: 1) == 1,
                narrowing: row.text(at: 2) ?? "")
        }
    }

    /// Records that an ended run's findings must still be entered.
    func noteMissing(_ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO trueup_unremembered_runs VALUES (?, ?)",
            arguments: [sequence, resolves])
    }

    /// Records that all of them are entered.
    func noteComplete(_ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM trueup_unremembered_runs WHERE run_seq = ?", arguments: [sequence])
    }

    /// Enters a chunk of what the run found; returns where the next one begins.
    func remember(from first: Int64, _ db: Database) throws -> Int64? {
        let next = try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT finding_seq FROM trueup_run_findings
                    WHERE run_seq = ? AND finding_seq >= ? ORDER BY finding_seq
                    LIMIT 1 OFFSET \(StoreLimits.scatteredRowsPerChunk)
                    """),
            arguments: [sequence, first])
        try db.cachedStatement(
            sql: """
                INSERT INTO trueup_findings
                SELECT f.finding_id, f.kind, f.severity, f.bundle_id, f.environment,
                    f.original_transaction_id, r.first_seen, u.started,
                    -- What is only repeated stays with the job that found it.
                    CASE WHEN f.is_carried = \(OwedFindings.mark) AND r.state <> 'corrected'
                        THEN ifnull((SELECT e.last_pass_id FROM trueup_findings AS e
                            WHERE e.finding_id = f.finding_id), f.pass_id)
                        ELSE f.pass_id END,
                    CASE WHEN r.state = 'corrected' THEN r.run_seq END, r.state
                FROM trueup_run_findings AS r
                JOIN trueup_pass_findings AS f ON f.finding_seq = r.finding_seq
                JOIN trueup_runs AS u ON u.run_seq = r.run_seq
                WHERE r.run_seq = ? AND r.finding_seq >= ? AND r.finding_seq < ?
                ON CONFLICT (finding_id) DO UPDATE SET
                    severity = excluded.severity, last_seen = excluded.last_seen,
                    last_pass_id = excluded.last_pass_id, state = excluded.state,
                    corrected_by = ifnull(excluded.corrected_by, corrected_by)
                """
        ).execute(arguments: [sequence, first, next ?? Int64.max])
        try db.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO trueup_finding_jobs
                SELECT f.finding_id, u.job FROM trueup_run_findings AS r
                JOIN trueup_pass_findings AS f ON f.finding_seq = r.finding_seq
                JOIN trueup_runs AS u ON u.run_seq = r.run_seq
                WHERE r.run_seq = ? AND r.finding_seq >= ? AND r.finding_seq < ?
                """
        ).execute(arguments: [sequence, first, next ?? Int64.max])
        return next
    }

    /// Whether something may be closed: by the looks of a complete run, or by what any run inserted.
    ///
    /// Taking a run back says nothing of what Apple states.
    func mayResolve(_ db: Database) throws -> Bool {
        guard !resolves else { return true }
        return try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM trueup_runs AS r
                    JOIN trueup_pass_rows AS p ON p.pass_id = r.pass_id
                        AND p.verdict = \(VerdictCode.inserted.rawValue)
                    WHERE r.run_seq = ?1 AND NOT EXISTS (SELECT 1 FROM trueup_applications AS a
                        WHERE a.pass_id = r.pass_id AND a.undo_of IS NOT NULL))
                """, arguments: [sequence]) ?? false
    }

    /// Closes a chunk of the findings of earlier nights that the run's pass looked for and did not
    /// find again, or of rows that it inserted; returns the id with which the next chunk begins.
    func resolve(from first: String, _ db: Database) throws -> String? {
        let next = try FindingLook.next(
            after: StoreLimits.scatteredRowsPerChunk, from: first, db)
        let passID = try Int64.fetchOne(
            db, sql: "SELECT pass_id FROM trueup_runs WHERE run_seq = ?", arguments: [sequence])
        // No id sorts after this one: they are hexadecimal.
        let resolution = FindingResolution(
            db: db, passID: passID ?? 0, sequence: sequence, narrowing: narrowing)
        if resolves {
            try resolution.write(from: first, to: next ?? "~")
        } else {
            try resolution.writeInserted(from: first, to: next ?? "~")
        }
        return next
    }
}

extension SQLiteStore {
    /// Brings `trueup_findings` up to date with every run that has ended.
    func rememberEndedRuns() async throws(StoreError) {
        let doing = "noting where the findings stand"
        while let memory = try await read(doing, FindingMemory.next) {
            try await inChunks(doing, from: Int64.min, memory.remember)
            if try await read(doing, memory.mayResolve) {
                try await inChunks(doing, from: "", memory.resolve)
            }
            try await write(doing, memory.noteComplete)
        }
    }
}

/// Closes findings of earlier nights that this pass looked for and did not find again.
///
/// What it did not examine stays open: rows that it did not judge, in judged rows whatever the
/// judgement did not cover, and, for what names no subscription, histories that it did not read to
/// their end.
struct FindingResolution {
    let db: Database
    let passID: Int64
    let sequence: Int64
    let narrowing: String

    /// Works on the findings with ids from the first on and before the end.
    func write(from first: String, to end: String) throws {
        try close(where: FindingLook.wasLookedAt, first, end)
        try resolveNotifications(first, end)
        try resolveGone(first, end)
    }

    /// Closes the findings of rows that the run inserted, whatever else it did not look at.
    func writeInserted(from first: String, to end: String) throws {
        try close(where: FindingLook.wasInserted, first, end)
    }

    private func close(where isGone: String, _ first: String, _ end: String) throws {
        try db.execute(
            sql: """
                UPDATE trueup_findings AS h SET state = 'resolved'
                WHERE h.state IN \(FindingLook.unresolved)
                    AND h.finding_id >= ?2 AND h.finding_id < ?3 AND NOT \(FindingLook.wasFound)
                    AND h.kind NOT IN ('notification_missed', 'notification_lost')
                    AND \(FindingLook.isOfAnApp(narrowing: "?4")) AND \(isGone)
                """,
            arguments: [passID, first, end, narrowing])
    }

    /// A finding about a row is resolved once the row is gone: its key was mended, or it was deleted;
    /// likewise one about two rows once one of them is.
    ///
    /// Not where the guard did not accept how many rows the table has: they may come back.
    private func resolveGone(_ first: String, _ end: String) throws {
        try db.execute(
            sql: """
                UPDATE trueup_findings AS h SET state = 'resolved'
                WHERE h.state IN \(FindingLook.unresolved)
                    AND h.finding_id >= ?2 AND h.finding_id < ?3 AND NOT \(FindingLook.wasFound)
                    AND h.kind NOT IN ('notification_missed', 'notification_lost')
                    AND EXISTS (SELECT 1 FROM trueup_runs AS r
                        JOIN trueup_table_sizes AS t ON t.run_seq = r.run_seq
                        WHERE r.run_seq = ?4 AND r.mode = 'apply')
                    AND \(FindingLook.isOfAnApp(narrowing: "?5"))
                    AND NOT \(FindingLook.isAboutSomething)
                """,
            arguments: [passID, first, end, sequence, narrowing])
    }

    /// A notification was looked at when Apple's history showed it again.
    private func resolveNotifications(_ first: String, _ end: String) throws {
        try db.execute(
            sql: """
                UPDATE trueup_findings AS h SET state = 'resolved'
                WHERE h.state IN \(FindingLook.unresolved) AND h.finding_id >= ?2 AND h.finding_id < ?3
                    AND h.last_pass_id <> ?1
                    AND h.kind IN ('notification_missed', 'notification_lost')
                    AND EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                        JOIN trueup_pass_notifications AS n ON n.pass_id = ?1
                            AND n.bundle_id = f.bundle_id AND n.environment = f.environment
                            AND n.notification_uuid = f.field
                        WHERE f.pass_id = h.last_pass_id AND f.finding_id = h.finding_id
                            AND n.verdict NOT IN ('missed', 'lost'))
                """,
            arguments: [passID, first, end])
    }
}
