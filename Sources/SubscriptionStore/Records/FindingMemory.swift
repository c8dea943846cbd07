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

/// What shows that an open finding `h` of an earlier night is gone, as conditions on the pass `?1`.
///
/// What a report carries on and what stays open after its run are decided by the same conditions,
/// so that the reports and the books agree.
enum FindingLook {
    /// The states of a finding that is not resolved.
    static let unresolved = "('new', 'open', 'recurring', 'acknowledged')"

    /// The unresolved finding that comes so many places after the first one, with which the next chunk
    /// begins; `nil` where there is none.
    static func next(after count: Int, from first: String, _ db: Database) throws -> String? {
        try String.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT finding_id FROM trueup_findings
                    WHERE state IN \(unresolved) AND finding_id >= ?
                    ORDER BY finding_id LIMIT 1 OFFSET ?
                    """),
            arguments: [first, count])
    }

    /// That the pass states the finding, whichever period its line names.
    static let wasFound = """
        EXISTS (SELECT 1 FROM trueup_pass_findings AS f
            WHERE f.pass_id = ?1 AND f.finding_id = h.finding_id AND f.superseded_by IS NULL)
        """

    /// Whether the pass examined as much as shows that the finding is gone: of its row, or, where it
    /// names no subscription, of that in which it was found.
    static let wasLookedAt = """
        CASE WHEN h.original_transaction_id IS NOT NULL THEN \(wasRowLookedAt)
            WHEN \(isOfAnswer) THEN \(wasAnsweredAgain)
            ELSE EXISTS (SELECT 1 FROM trueup_pass_recovered AS n WHERE n.pass_id = ?1
                AND n.bundle_id = h.bundle_id AND n.environment = h.environment) END
        """

    /// That the finding, or the row, is of an app that the run is for.
    ///
    /// A run for some apps alone neither repeats nor closes what was found of another, nor misses its
    /// rows.
    ///
    /// - Parameters:
    ///   - narrowing: The run's narrowing as it is stored; it leaves out nothing of its apps.
    ///   - name: Of what has the app.
    /// - Returns: A condition on what is called so.
    static func isOfAnApp(narrowing: String, of name: String = "h") -> String {
        """
        (\(narrowing) = '' OR instr(char(10) || \(narrowing) || char(10),
            char(10) || '\(RunHeader.appNarrowing)' || \(name).bundle_id || '/'
                || lower(\(name).environment) || char(10)) > 0)
        """
    }

    /// Whether the pass inserted the row: with the values that Apple states.
    static let wasInserted = """
        EXISTS (SELECT 1 FROM trueup_pass_rows AS p WHERE \(isRowOfPass)
            AND \(isSettledByInsert))
        """

    /// A finding about a row is nobody's any more once the row is gone, or, where two rows are one
    /// too many, the other one.
    static let isAboutSomething = """
        CASE WHEN h.original_transaction_id IS NULL THEN
                NOT \(isOfAnswer) OR EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                    JOIN subscriptions AS s ON s.bundle_id = h.bundle_id
                        AND s.environment = h.environment AND s.original_transaction_id = f.field
                    WHERE f.pass_id = h.last_pass_id AND f.finding_id = h.finding_id)
            WHEN h.kind = '\(FindingKind.missingLocally.rawValue)' THEN 1
            WHEN h.kind = '\(FindingKind.duplicateLocal.rawValue)' THEN
                EXISTS (SELECT 1 FROM subscriptions AS s WHERE \(isRow)
                    AND \(HeldRows.hasDuplicates))
            ELSE EXISTS (SELECT 1 FROM subscriptions AS s WHERE \(isRow)) END
        """

    private static let isRow = """
        s.bundle_id = h.bundle_id AND s.environment = h.environment
            AND s.original_transaction_id = h.original_transaction_id
        """

    private static let isRowOfPass = """
        p.pass_id = ?1 AND p.bundle_id = h.bundle_id AND p.environment = h.environment
            AND p.original_transaction_id = h.original_transaction_id
        """

    private static let isJudged = """
        p.verdict IN (\(VerdictCode.match.rawValue), \(VerdictCode.discrepancy.rawValue))
        """

    private static let wasRowLookedAt = """
        EXISTS (SELECT 1 FROM trueup_pass_rows AS p WHERE \(isRowOfPass)
            AND (\(isSettledByInsert)
                OR \(isJudged) AND (p.look >= \(neededLook) OR \(isOfCurrentPeriod))))
        """

    /// What is inserted rests on Apple's statement; it says nothing about older periods.
    private static let isSettledByInsert = """
        p.verdict = \(VerdictCode.inserted.rawValue)
            AND \(neededLook) <= \(LookDepth.statement.rawValue)
        """

    /// How much of a row must have been examined to show that a finding of a kind is resolved.
    ///
    /// A kind that this version does not know counts as one about Apple's statement.
    private static let neededLook: String = {
        let kinds = FindingKind.allCases.map {
            "WHEN '\($0.rawValue)' THEN \($0.neededLook.rawValue)"
        }
        return
            "CASE h.kind \(kinds.joined(separator: " ")) ELSE \(LookDepth.statement.rawValue) END"
    }()

    /// Every status answer shows the price of the current period; older ones only the history.
    private static let isOfCurrentPeriod = """
        h.kind = 'price' AND p.look >= \(LookDepth.statement.rawValue)
            AND EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                JOIN subscriptions AS s ON \(isRow)
                    AND s.latest_transaction_id = f.transaction_id
                WHERE f.pass_id = h.last_pass_id AND f.finding_id = h.finding_id)
        """

    /// That a finding without a subscription was found in the answer about the row that `field`
    /// names; every other one is of the notification history.
    private static let isOfAnswer = """
        (h.kind = '\(FindingKind.verificationFailed.rawValue)'
            AND EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                WHERE f.pass_id = h.last_pass_id AND f.finding_id = h.finding_id
                    AND f.field NOT LIKE '\(Finding.notificationFieldPrefix)%'))
        """

    private static let wasAnsweredAgain = """
        EXISTS (SELECT 1 FROM trueup_pass_findings AS f
            JOIN trueup_pass_rows AS p ON p.pass_id = ?1 AND p.bundle_id = h.bundle_id
                AND p.environment = h.environment AND p.original_transaction_id = f.field
                AND p.look >= \(LookDepth.statement.rawValue) AND \(isJudged)
            WHERE f.pass_id = h.last_pass_id AND f.finding_id = h.finding_id)
        """
}

/// What is noted about rows that the company has deleted since.
///
/// It would count for ever: as Apple's oldest word, among the judged rows, in the sweep, and beside
/// the customer's other rows. Should a row come back, it is asked about as one never judged.
struct GoneRows: Sendable {
    /// Notes with one row for each subscription.
    struct Notes: Sendable {
        let table: String
        /// What keeps a note `n` although no row has its key.
        var unless = "0"
    }

    /// One reading of notes.
    struct Piece: Sendable {
        var gone: [StoredKey] = []
        /// Where the next piece begins; `nil` at the end.
        var next: StoredKey?
    }

    let header: RunHeader

    /// Notes read in one piece: reading keeps nobody from writing.
    static let rowsPerPiece = 10_000

    /// A subscription that nobody holds is not found on several days, too, before that is confirmed.
    static let notes = [
        Notes(table: "trueup_checks"), Notes(table: "trueup_history_revisions"),
        Notes(table: "trueup_statements", unless: isOwed),
        Notes(table: "trueup_absences", unless: isOwed),
    ]

    private static let isOwed =
        "EXISTS (SELECT 1 FROM trueup_agenda AS a WHERE \(keysAgree("a", "n")))"

    private static func keysAgree(_ left: String, _ right: String) -> String {
        ["bundle_id", "environment", "original_transaction_id"]
            .map { "\(left).\($0) = \(right).\($0)" }.joined(separator: " AND ")
    }

    /// Finds notes about rows of the run's apps that are not in the table, from a key on.
    func piece(of notes: Notes, from start: StoredKey, _ db: Database) throws -> Piece {
        let key = "original_transaction_id, environment, bundle_id"
        let order = "bundle_id, environment, original_transaction_id"
        let isFromStart = "(\(order)) >= \(start.marks)"
        var piece = Piece()
        let gone = try Row.fetchCursor(
            db,
            sql: """
                SELECT \(key) FROM (SELECT \(key) FROM \(notes.table) WHERE \(isFromStart)
                    ORDER BY \(order) LIMIT \(Self.rowsPerPiece)) AS n
                WHERE NOT EXISTS (SELECT 1 FROM subscriptions AS s
                        WHERE \(Self.keysAgree("s", "n")))
                    AND NOT \(notes.unless)
                    AND EXISTS (SELECT 1 FROM (SELECT ? AS narrowing) AS w
                        WHERE \(FindingLook.isOfAnApp(narrowing: "w.narrowing", of: "n")))
                """,
            arguments: start.arguments + [TextList.encode(header.narrowing)])
        while let row = try gone.next() { piece.gone.append(try StoredKey(row)) }
        let next = try Row.fetchCursor(
            db,
            sql: """
                SELECT \(key) FROM \(notes.table) WHERE \(isFromStart)
                ORDER BY \(order) LIMIT 1 OFFSET \(Self.rowsPerPiece)
                """, arguments: start.arguments)
        piece.next = try next.next().map(StoredKey.init)
        return piece
    }

    /// Deletes notes about rows that are still not in the table.
    func forget(_ keys: ArraySlice<StoredKey>, in notes: Notes, _ db: Database) throws {
        for key in keys {
            try db.cachedStatement(
                sql: """
                    DELETE FROM \(notes.table)
                    WHERE (bundle_id, environment, original_transaction_id) = \(key.marks)
                        AND NOT EXISTS (SELECT 1 FROM subscriptions AS s
                            WHERE \(Self.keysAgree("s", notes.table)))
                    """
            ).execute(arguments: key.arguments)
        }
    }
}

extension SQLiteStore {
    /// Forgets what was noted about rows that are gone, in small transactions.
    ///
    /// Only after a run that looked for rows to ask about, and whose guard accepted the table's size:
    /// a table that was emptied by mistake keeps its notes.
    func forgetGoneRows(
        after conclusion: RunConclusion, of run: RunHeader
    ) async throws(StoreError) {
        guard run.worksOffAgenda, run.countsTables, conclusion.acceptedTableRows != nil else {
            return
        }
        let doing = "forgetting rows that are gone"
        let rows = GoneRows(header: run)
        for notes in GoneRows.notes {
            var position: StoredKey? = .first
            while let start = position {
                let piece = try await read(doing) { db in
                    try rows.piece(of: notes, from: start, db)
                }
                position = piece.next
                var left = piece.gone[...]
                while !left.isEmpty {
                    let chunk = left.prefix(StoreLimits.scatteredRowsPerChunk)
                    left = left.dropFirst(chunk.count)
                    try await write(doing) { db in try rows.forget(chunk, in: notes, db) }
                }
            }
        }
    }
}
