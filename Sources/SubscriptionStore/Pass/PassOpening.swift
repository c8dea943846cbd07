import GRDB
import Subscriptions

/// Finds or makes the checkpoint that a run works in.
struct PassOpening {
    let db: Database
    let run: RunHeader
    /// The tables as the run begins, as they are stored with it.
    var counted: String?

    /// A pass that a run has opened or continues.
    struct Opened: Sendable {
        let passID: Int64
        let sequence: Int64
        let resumedFrom: String?
        /// Checkpoints that no run continues any more.
        let dropped: [Int64]
    }

    func begin() throws -> Opened {
        try ReportedEntries(db: db).releaseUnpublished(except: run.runID)
        let adopted = try adoptable()
        let dropped = try Int64.fetchAll(
            db,
            sql: """
                UPDATE trueup_passes SET state = 'dropped'
                WHERE state = 'open' AND pass_id IS NOT ?2
                    AND (job = ?1 AND mode = ?3 AND narrowing = ?4
                        OR (job = ?1 OR ?7) AND abs(?5 - began) >= ?6)
                RETURNING pass_id
                """,
            // Of another job's only by a run that adopts what they found as well.
            arguments: [
                run.job, adopted, run.mode.rawValue, TextList.encode(run.filters),
                run.started.unixMilliseconds, OpenPass.longestMilliseconds, run.judgesRows,
            ])
        let resumedFrom = try adopted.flatMap { passID in
            try db.text(
                "SELECT run_id FROM trueup_runs WHERE pass_id = ? ORDER BY run_seq DESC", [passID])
        }
        let passID = try adopted ?? insertPass()
        let isReported = try lastReportIsPublished(in: passID)
        try insertRun(passID: passID, resumedFrom: resumedFrom)
        let sequence = db.lastInsertedRowID
        try forgetCarried(in: passID, by: sequence, isReported: isReported)
        if run.goesRound {
            try db.execute(
                sql: "INSERT OR IGNORE INTO trueup_rounds VALUES (?, ?)",
                arguments: [Self.round(of: run), run.started.unixMilliseconds])
        }
        return Opened(
            passID: passID, sequence: sequence, resumedFrom: resumedFrom, dropped: dropped)
    }

    /// Names the full scan that a run makes or continues in `trueup_rounds`: by its job, and by the
    /// apps that it is for alone, a line each.
    static func round(of run: RunHeader) -> String {
        run.filters.isEmpty ? run.job : run.job + "\n" + TextList.encode(run.filters)
    }

    /// SQL for the name of the full scan that the checkpoint called `w` is a part of.
    static let roundOfCheckpoint = """
        iif(w.narrowing = '', w.job, w.job || char(10) || w.narrowing)
        """

    /// The pass that the run would continue.
    func adoptable() throws -> Int64? {
        try db.integer(
            """
            SELECT pass_id FROM trueup_passes
            WHERE state = 'open' AND job = ? AND mode = ? AND settings_digest = ?
                AND narrowing = ? AND covers_every_row = ?
                AND abs(? - began) < iif((SELECT r.ended FROM trueup_runs AS r
                    WHERE r.pass_id = trueup_passes.pass_id
                    ORDER BY r.run_seq DESC LIMIT 1) IS NULL, ?, ?)
            ORDER BY pass_id DESC
            """,
            [
                run.job, run.mode.rawValue, run.settingsDigest, TextList.encode(run.filters),
                run.coversEveryRow, run.started.unixMilliseconds,
                run.continuesWithinMilliseconds(killed: true),
                run.continuesWithinMilliseconds(killed: false),
            ])
    }

    private func insertPass() throws -> Int64 {
        try db.execute(
            sql: """
                INSERT INTO trueup_passes (
                    job, mode, settings_digest, narrowing, covers_every_row, began)
                VALUES (?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                run.job, run.mode.rawValue, run.settingsDigest, TextList.encode(run.filters),
                run.coversEveryRow, run.started.unixMilliseconds,
            ])
        return db.lastInsertedRowID
    }

    private func insertRun(passID: Int64, resumedFrom: String?) throws {
        try db.execute(
            sql: """
                INSERT INTO trueup_runs (
                    run_id, pass_id, resumed_from, job, mode, started, apps, actor, tool_version,
                    settings_digest, narrowing, covers_every_row, not_found_confirmations,
                    job_file, guards, counted)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                run.runID, passID, resumedFrom, run.job, run.mode.rawValue,
                run.started.unixMilliseconds, TextList.encode(run.apps), run.actor, run.toolVersion,
                run.settingsDigest, TextList.encode(run.filters), run.coversEveryRow,
                run.notFoundConfirmations, run.jobFile, run.guards, counted,
            ])
    }

    /// Whether the newest run of the checkpoint ended and its report is published.
    private func lastReportIsPublished(in passID: Int64) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                SELECT ended IS NOT NULL
                    AND run_id NOT IN (SELECT run_id FROM trueup_awaited_reports)
                FROM trueup_runs WHERE pass_id = ? ORDER BY run_seq DESC LIMIT 1
                """, arguments: [passID]) ?? false
    }

    /// Forgets open findings that an earlier run of the checkpoint adopted: their rows may be
    /// checked after all, its own are reported once its report is published, and a notification
    /// that another run has recovered since belongs to that run.
    private func forgetCarried(in passID: Int64, by sequence: Int64, isReported: Bool) throws {
        try db.execute(
            sql: """
                UPDATE trueup_pass_findings INDEXED BY trueup_pass_findings_carried
                SET superseded_by = ?
                WHERE pass_id = ? AND is_carried = 1 AND superseded_by IS NULL
                """, arguments: [sequence, passID])
        try db.execute(
            sql: """
                UPDATE trueup_pass_findings AS f SET superseded_by = ?
                WHERE f.pass_id = ? AND \(UnpublishedFindings.isOfNotification)
                    AND f.superseded_by IS NULL
                    AND (f.action <> 'recovered' AND \(UnpublishedFindings.isRecovered)
                        OR f.action = 'recovered'
                            AND \(UnpublishedFindings.wasReportedFixed(before: sequence)))
                """, arguments: [sequence, passID])
        guard isReported else { return }
        try db.execute(
            sql: """
                UPDATE trueup_pass_findings INDEXED BY trueup_pass_findings_owed
                SET is_carried = 1, superseded_by = ifnull(superseded_by, ?)
                WHERE pass_id = ? AND is_carried = \(UnpublishedFindings.mark)
                """, arguments: [sequence, passID])
    }

    /// Rows that an earlier run could not check only because it ended, because Apple did not
    /// answer, or because the answer may be wrong once: a chunk of them.
    ///
    /// An id that Apple did not find is checked again on the next day anyway.
    static func cutOff(_ opened: Opened, _ db: Database) throws -> [StoredKey] {
        try db.rows(
            cached: """
                SELECT * FROM (
                    SELECT original_transaction_id, environment, bundle_id
                    FROM trueup_pass_rows INDEXED BY trueup_pass_rows_cut_off
                    WHERE pass_id = ?1 AND verdict = 3
                        AND reason IN ('deadline', 'unavailable', 'rate_limited')
                    LIMIT \(StoreLimits.scatteredRowsPerChunk))
                UNION SELECT * FROM (
                    SELECT original_transaction_id, environment, bundle_id
                    FROM trueup_pass_rows INDEXED BY trueup_pass_rows_doubtful
                    WHERE pass_id = ?1 AND is_doubtful = 1 AND is_absent = 0
                    LIMIT \(StoreLimits.scatteredRowsPerChunk))
                LIMIT \(StoreLimits.scatteredRowsPerChunk)
                """, [opened.passID]
        ).map(StoredKey.init)
    }

    /// Where a chunk of planned corrections begins.
    typealias Place = (key: StoredKey, correctionID: Int64)

    /// Rows whose planned correction can no longer be written, because a service wrote to them
    /// since or another job has seen a newer statement of Apple's: those of a chunk of the plan,
    /// and where the next one begins.
    static func moved(
        from place: Place, _ opened: Opened, _ db: Database
    ) throws -> (keys: [StoredKey], next: Place?) {
        let planned = try db.rows(
            cached: """
                SELECT c.original_transaction_id, c.environment, c.bundle_id, c.correction_id,
                    c.target = 'update' AND c.undo_of IS NULL
                        AND p.pass_id IS NOT NULL
                        AND (c.expected_row_version <> s.row_version
                            OR EXISTS (SELECT 1 FROM trueup_statements AS n
                                WHERE \(SubscriptionKey.agree("n", "c"))
                                    AND n.signed_date
                                        > ifnull(c.rests_on, c.apple_signed_date)))
                        AND NOT EXISTS (SELECT 1 FROM trueup_applications AS a
                            WHERE a.pass_id = c.pass_id)
                FROM trueup_pass_corrections AS c INDEXED BY trueup_pass_corrections_planned
                LEFT JOIN trueup_pass_rows AS p ON p.pass_id = c.pass_id
                    AND \(SubscriptionKey.agree("p", "c"))
                LEFT JOIN subscriptions AS s ON \(SubscriptionKey.agree("s", "c"))
                WHERE c.pass_id = ? AND c.fate = 'planned' AND c.superseded_by IS NULL
                    AND (c.bundle_id, c.environment, c.original_transaction_id,
                        c.correction_id) > (\(place.key.marks.dropFirst().dropLast()), ?)
                ORDER BY c.bundle_id, c.environment, c.original_transaction_id,
                    c.correction_id
                LIMIT \(StoreLimits.rowsPerChunk)
                """, [opened.passID] + place.key.arguments + [place.correctionID])
        let keys = try planned.filter { $0.integer(at: 4) == 1 }.map(StoredKey.init)
        guard planned.count == StoreLimits.rowsPerChunk, let last = planned.last else {
            return (keys, nil)
        }
        return (keys, (try StoredKey(last), last.integer(at: 3) ?? 0))
    }

    /// Forgets rows, so that the walk checks them again.
    static func askAgain(about keys: [StoredKey], _ opened: Opened, _ db: Database) throws {
        let priority = QueuedQuestion.priority(.heldBack, isEntitling: false)
        for key in keys {
            let row: StatementArguments = [opened.passID] + key.arguments
            // An answer about another row may have brought it, so nothing else need ask about it.
            try db.executeCached(
                """
                INSERT OR IGNORE INTO trueup_pass_questions
                SELECT pass_id, \(priority), bundle_id, environment, original_transaction_id, NULL
                FROM trueup_pass_rows WHERE pass_id = ? AND is_doubtful = 1
                    AND (bundle_id, environment, original_transaction_id) = (?, ?, ?)
                """, row)
            try db.executeCached(
                """
                UPDATE trueup_pass_findings SET superseded_by = ?
                WHERE pass_id = ? AND (outcome_bundle_id, outcome_environment,
                    outcome_original_transaction_id) = (?, ?, ?) AND superseded_by IS NULL
                    AND is_carried = 0
                """, [opened.sequence] + row)
            try db.executeCached(
                """
                UPDATE trueup_pass_corrections SET superseded_by = ?
                WHERE pass_id = ? AND (bundle_id, environment, original_transaction_id) = (?, ?, ?)
                    AND superseded_by IS NULL AND fate = 'planned'
                """, [opened.sequence] + row)
            try db.executeCached(
                """
                DELETE FROM trueup_pass_rows WHERE pass_id = ?
                    AND (bundle_id, environment, original_transaction_id) = \(key.marks)
                """, row)
        }
        // They lie behind the walk's position; what is settled is skipped on the way.
        try db.execute(
            sql: """
                UPDATE trueup_passes SET walked_bundle_id = NULL, walked_environment = NULL,
                    walked_original_transaction_id = NULL
                WHERE pass_id = ?
                """,
            arguments: [opened.passID])
    }

    static func describe(_ opened: Opened, _ db: Database) throws -> OpenPass {
        let passID = opened.passID
        var pass = OpenPass(passID: passID, resumedFrom: opened.resumedFrom)
        let apps = try db.rows(
            """
            SELECT bundle_id, environment FROM trueup_pass_recovered WHERE pass_id = ?
            ORDER BY bundle_id, environment
            """, [passID])
        pass.recoveredApps = apps.compactMap { row in
            AppStoreEnvironment(rawValue: row.requiredText(at: 1)).map {
                AppIdentity(bundleID: row.requiredText(at: 0), environment: $0)
            }
        }
        pass.unreportedShortfalls = try unreportedShortfalls(before: opened, db)
        let walked = try db.row(
            """
            SELECT walked_bundle_id, walked_environment, walked_original_transaction_id
            FROM trueup_passes
            WHERE pass_id = ? AND walked_original_transaction_id IS NOT NULL
            """, [passID])
        pass.walkedThrough = walked.map { SubscriptionKey($0, at: 0) }
        pass.roundBegan = try db.integer(
            """
            SELECT o.began FROM trueup_passes AS w
            JOIN trueup_rounds AS o ON o.job = \(roundOfCheckpoint)
            WHERE w.pass_id = ? AND w.covers_every_row = 1 AND w.mode = 'apply'
            """, [passID]
        ).map(Timestamp.init(unixMilliseconds:))
        return pass
    }

    /// The notes of killed runs of the job for the next one, since the last run that came to its end.
    ///
    /// A `check` moves no watermark, so only one that continues it needs its notes.
    private static func unreportedShortfalls(
        before opened: Opened, _ db: Database
    ) throws -> [String] {
        try db.rows(
            """
            SELECT k.messages FROM trueup_runs AS n
            JOIN trueup_runs AS k ON k.job = n.job AND k.mode = n.mode
                AND k.narrowing = n.narrowing AND k.run_seq < n.run_seq
            WHERE n.run_seq = ? AND k.ended IS NULL AND k.messages IS NOT NULL
                AND (k.pass_id = n.pass_id OR n.mode = '\(RunMode.apply.rawValue)')
                AND NOT EXISTS (SELECT 1 FROM trueup_runs AS e
                    WHERE e.run_seq > k.run_seq AND e.job = n.job AND e.mode = n.mode
                        AND e.narrowing = n.narrowing AND e.ended IS NOT NULL)
            ORDER BY k.run_seq
            """, [opened.sequence]
        ).flatMap { TextList.decode($0.requiredText(at: 0)) }
    }
}

/// A run and its checkpoint as the tables name them.
struct RunReference: Sendable {
    let passID: Int64
    /// Runs in the order in which they began.
    let sequence: Int64
}

extension RunReference {
    init(_ run: RunHeader, in pass: OpenPass, _ db: Database) throws {
        guard
            let sequence = try db.integer(
                cached: "SELECT run_seq FROM trueup_runs WHERE run_id = ? AND pass_id = ?",
                [run.runID, pass.passID])
        else {
            throw StoreError.inconsistent(
                "The run \(run.runID) was not begun in this checkpoint. Nothing was written. This is a fault of trueup, please report it."
            )
        }
        self.init(passID: pass.passID, sequence: sequence)
    }
}

/// Throwing away what ended passes no longer need, a little at a time.
///
/// Bookkeeping must not grow with every run: of a checkpoint that is over, only what its runs'
/// reports show is kept.
extension SQLiteStore {
    /// Throws all of it away.
    ///
    /// - Parameter note: Takes how many rows a step deleted at most.
    /// - Throws: An error of the database.
    func purgeEndedPasses(noting note: (Int) -> Void = { _ in }) async throws(StoreError) {
        while try await write("clearing the bookkeeping of ended passes", Self.purgeSome) {
            note(StoreLimits.rowsPerChunk)
        }
    }

    /// Deletes up to a chunk of rows; whether there may be more.
    private static func purgeSome(_ db: Database) throws -> Bool {
        guard
            let ended = try db.row(
                """
                SELECT pass_id, EXISTS (SELECT 1 FROM trueup_runs AS r
                    WHERE r.pass_id = p.pass_id AND r.ended IS NOT NULL)
                FROM trueup_passes AS p WHERE state IN ('closed', 'dropped') LIMIT 1
                """),
            let passID = ended.integer(at: 0)
        else { return false }
        for (table, id, rest) in workingTables {
            guard try db.deleteFirst(of: table, by: id, then: rest, passID: passID) else {
                return true
            }
        }
        let question = "pass_id, turn, bundle_id, environment, original_transaction_id"
        guard try db.deleteSome(of: "trueup_pass_questions", key: question, passID: passID) else {
            return true
        }
        for table in ["trueup_pass_recovered", "trueup_pass_history"] {
            try db.execute(sql: "DELETE FROM \(table) WHERE pass_id = ?", arguments: [passID])
        }
        if ended.integer(at: 1) == 0 {
            for (table, key) in reportedTables {
                guard try db.deleteSome(of: table, key: key, passID: passID) else { return true }
            }
            try db.execute(
                sql: "DELETE FROM trueup_pass_notifications WHERE pass_id = ?",
                arguments: [passID])
        }
        try db.execute(
            sql: "UPDATE trueup_passes SET state = 'purged' WHERE pass_id = ?", arguments: [passID])
        return true
    }

    /// Tables with the last column of their key, and with how it continues where there may be more
    /// than a chunk of one subscription.
    private static let workingTables: [(table: String, id: String, rest: [String])] = [
        ("trueup_pass_rows", "original_transaction_id", []),
        ("trueup_pass_revisions", "original_transaction_id", []),
        ("trueup_canaries", "original_transaction_id", []),
        ("trueup_pass_continuations", "original_transaction_id", []),
        ("trueup_pass_purchases", "transaction_id", []),
        (
            "trueup_pass_deliveries", "original_transaction_id",
            ["signed_date", "notification_uuid"]
        ),
    ]

    private static let reportedTables = [
        ("trueup_pass_findings", "finding_seq"), ("trueup_pass_corrections", "correction_id"),
    ]
}

extension Database {
    /// Deletes the first rows by key, which SQLite finds without reading the others; whether the
    /// checkpoint has none left.
    fileprivate func deleteFirst(
        of table: String, by id: String, then rest: [String], passID: Int64
    ) throws -> Bool {
        let more = rest.map { ", " + $0 }.joined()
        let bound = try Row.fetchOne(
            self,
            sql: """
                SELECT \(id), environment, bundle_id\(more) FROM \(table)
                WHERE pass_id = ?
                ORDER BY bundle_id, environment, \(id)\(more) LIMIT 1 OFFSET ?
                """,
            arguments: [passID, StoreLimits.rowsPerChunk])
        guard let bound else {
            try execute(sql: "DELETE FROM \(table) WHERE pass_id = ?", arguments: [passID])
            return true
        }
        let end = try StoredKey(bound)
        let marks = end.marks.dropLast() + rest.map { _ in ", ?" }.joined() + ")"
        let values = Array(bound.databaseValues).suffix(rest.count)
        try execute(
            sql: """
                DELETE FROM \(table) WHERE pass_id = ?
                    AND (bundle_id, environment, \(id)\(more)) < \(marks)
                """,
            arguments: [passID] + end.arguments + StatementArguments(values))
        return false
    }

    fileprivate func deleteSome(of table: String, key: String, passID: Int64) throws -> Bool {
        try execute(
            sql: """
                DELETE FROM \(table) WHERE (\(key)) IN (
                    SELECT \(key) FROM \(table) WHERE pass_id = ? LIMIT ?)
                """,
            arguments: [passID, StoreLimits.rowsPerChunk])
        return changesCount < StoreLimits.rowsPerChunk
    }
}

/// The rows of a checkpoint in a table of several passes, some at a time in the order of a number.
struct PassChunks: Sendable {
    let table: String
    /// The table's integer primary key.
    let number: String
    let passID: Int64
    let rowsPerChunk: Int

    /// The number of the first row; `nil` where the checkpoint has none.
    func first(_ db: Database) throws -> Int64? {
        try db.integer("SELECT min(\(number)) FROM \(table) WHERE pass_id = ?", [passID])
    }

    /// Where the chunk after the one that begins at a number begins.
    func next(after first: Int64, _ db: Database) throws -> Int64? {
        try db.integer(
            cached: """
                SELECT \(number) FROM \(table) AS x
                WHERE x.\(number) >= ? AND \(isOfPass("x")) ORDER BY x.\(number)
                LIMIT 1 OFFSET \(rowsPerChunk)
                """, [first, passID])
    }

    /// Returns SQL for whether a row belongs to the checkpoint, to go with `passID`.
    ///
    /// Without the plus SQLite would take the index of the checkpoint and sort all of it each time.
    func isOfPass(_ name: String) -> String { "+\(name).pass_id = ?" }
}
