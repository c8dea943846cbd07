import GRDB
import Subscriptions

/// The part of a conclusion that may touch every row, one transaction per range of keys.
///
/// It only counts once the run has ended; if the run is killed before that, the next
/// `begin` deletes it.
extension RunConclusionWriter {
    /// Processes so many keys from `start` on; returns where the next chunk begins, `nil` at the end.
    typealias Work = @Sendable (_ start: StoredKey, _ rows: Int, Database) throws -> StoredKey?

    /// The steps, and how many rows each goes through.
    func steps(_ db: Database) throws -> [(work: Work, rows: Int)] {
        try steps(through: unreached(db)).map { rows, work in
            guard let rows else { return (work, 0) }
            let count = try db.count("SELECT count(*) FROM \(rows.table) WHERE \(rows.condition)")
            return (work, count)
        }
    }

    /// Where the rows are that the run did not reach.
    private func unreached(_ db: Database) throws -> [RowsInKeyOrder] {
        guard conclusion.settlesUnreached, header.missesWhatItLeaves else { return [] }
        guard !header.coversEveryRow else { return [RowsInKeyOrder(table: "subscriptions")] }
        let turns = try Int.fetchAll(
            db, sql: "SELECT DISTINCT turn FROM trueup_pass_questions WHERE pass_id = ?",
            arguments: [run.passID])
        return [RowsInKeyOrder(table: "trueup_agenda")]
            + turns.map { turn in
                RowsInKeyOrder(
                    table: "trueup_pass_questions",
                    condition: "pass_id = \(run.passID) AND turn = \(turn)")
            }
    }

    private func ofPass(_ table: String) -> RowsInKeyOrder {
        RowsInKeyOrder(table: table, condition: "pass_id = \(run.passID)")
    }

    /// The steps with the rows that each goes through; `nil` where it has one transaction.
    private func steps(
        through unreached: [RowsInKeyOrder]
    ) -> [(rows: RowsInKeyOrder?, work: Work)] {
        let checked = ofPass("trueup_pass_rows")
        var steps = [step(through: checked, as: "p", listUndecided)]
        for rows in unreached {
            steps.append(
                step(through: rows, as: rows.table == "subscriptions" ? "s" : "q") { chunk, db in
                    try listUnreached(chunk, of: rows.table, db)
                })
        }
        if header.worksOffQueue {
            let update = QueueUpdate(
                run: run, started: header.started, ended: conclusion.ended,
                acceptsTable: conclusion.acceptedTableRows != nil)
            steps.append(
                step(through: checked, as: "p") { chunk, db in
                    try update.make(chunk.sql, chunk.arguments, db)
                })
            // Only now: the two rows of a pair may be in different chunks.
            let overlaps = OverlapQuestions(run: run, started: header.started)
            steps.append(
                step(through: checked, as: "p") { chunk, db in
                    try overlaps.askAboutNew(chunk.sql, chunk.arguments, db)
                })
            let askAboutEnded: Work = { _, _, db in
                try overlaps.askAboutEnded(db)
                return nil
            }
            steps.append((nil, askAboutEnded))
        }
        if conclusion.closesPass, header.mode == .apply,
            header.leavesOutNothingOfItsApps
        {
            steps.append(step(through: ofPass("trueup_pass_revisions"), as: "r", promoteRevisions))
        }
        return steps
    }

    /// A step that goes through rows in the order of their keys, each chunk under a name.
    private func step(
        through rows: RowsInKeyOrder, as name: String,
        _ work: @escaping @Sendable (RowsInKeyOrder.Chunk, Database) throws -> Void
    ) -> (rows: RowsInKeyOrder?, work: Work) {
        let step: Work = { start, count, db in
            try work(rows.chunk(from: start, count, as: name), db)
            return try rows.key(after: start, count, db)
        }
        return (rows, step)
    }

    /// Rows checked undecided, and accounts that Apple did not find, as the report lists them; and
    /// rows in flight, of which it has the number only.
    private func listUndecided(_ chunk: RowsInKeyOrder.Chunk, _ db: Database) throws {
        let (rows, arguments) = chunk
        try db.executeCached(
            """
            INSERT OR REPLACE INTO trueup_run_undecided
            SELECT ?, p.bundle_id, p.environment, p.original_transaction_id, s.customer_id,
                p.reason
            FROM \(rows)
            LEFT JOIN subscriptions AS s ON \(SubscriptionKey.agree("s", "p"))
            WHERE p.verdict = \(VerdictCode.undecided.rawValue)
            """, [run.sequence] + arguments)
        try db.executeCached(
            """
            INSERT OR REPLACE INTO trueup_run_in_flight
            SELECT ?, p.bundle_id, p.environment, p.original_transaction_id FROM \(rows)
            WHERE p.verdict = \(VerdictCode.excluded.rawValue)
                AND p.reason = '\(ExclusionReason.inFlight.rawValue)'
            """, [run.sequence] + arguments)
        try db.executeCached(
            """
            INSERT OR REPLACE INTO trueup_run_not_found
            SELECT ?, p.bundle_id, p.environment, p.original_transaction_id, s.customer_id,
                a.first_day, a.last_day, a.distinct_days,
                CASE WHEN typeof(s.status) = 'integer' THEN s.status END,
                CASE WHEN typeof(s.signed_date) = 'integer' THEN s.signed_date END,
                (SELECT l.evidence FROM trueup_ledger AS l WHERE \(SubscriptionKey.agree("l", "p"))
                    ORDER BY l.apple_signed_date DESC, l.entry DESC LIMIT 1)
            FROM \(rows)
            CROSS JOIN trueup_absences AS a ON \(SubscriptionKey.agree("a", "p"))
            LEFT JOIN subscriptions AS s ON \(SubscriptionKey.agree("s", "p"))
            WHERE p.is_absent = 1
            """, [run.sequence] + arguments)
    }

    /// SQL for the reason why an unreached row is undecided, by its app.
    private var reasonOfUnreached: (sql: String, arguments: StatementArguments) {
        let refused = conclusion.refusedApps.sorted()
        guard !refused.isEmpty else { return ("?", [conclusion.unreachedReason.rawValue]) }
        return (
            "CASE WHEN (s.bundle_id, s.environment) IN (VALUES \(refused.marks)) THEN ? ELSE ? END",
            refused.arguments + [
                UndecidedReason.unavailable.rawValue, conclusion.unreachedReason.rawValue,
            ]
        )
    }

    /// Rows not reached before the run ended; the next run of the checkpoint asks about them.
    private func listUnreached(
        _ chunk: RowsInKeyOrder.Chunk, of table: String, _ db: Database
    ) throws {
        let isTable = table == "subscriptions"
        let (rows, arguments) = chunk
        let reason = reasonOfUnreached
        let join = "CROSS JOIN subscriptions AS s ON \(SubscriptionKey.agree("s", "q"))"
        try db.executeCached(
            """
            INSERT OR REPLACE INTO trueup_run_undecided
            SELECT ?, s.bundle_id, s.environment, s.original_transaction_id, s.customer_id,
                \(reason.sql)
            FROM \(rows) \(isTable ? "" : join)
            WHERE NOT \(PassStaging.isSettled) AND NOT \(PassStaging.isOfRound)
                \(table == "trueup_agenda" ? "AND \(QuestionQueue.isForThisRun("q"))" : "")
                AND \(OpenFindings.isOfAnApp(of: "s"))
            """,
            [run.sequence] + reason.arguments + arguments + [
                run.passID, run.passID, TextList.encode(header.filters),
            ])
    }

    /// Stores where the next history reading begins, unless something that this one showed is still
    /// unwritten or undecided: otherwise the next run would miss it.
    private func promoteRevisions(_ chunk: RowsInKeyOrder.Chunk, _ db: Database) throws {
        let (rows, arguments) = chunk
        try db.executeCached(
            """
            INSERT OR REPLACE INTO trueup_history_revisions
            SELECT r.bundle_id, r.environment, r.original_transaction_id, r.revision,
                r.periods, r.periods_sha256
            FROM \(rows)
            WHERE NOT EXISTS (SELECT 1 FROM trueup_pass_corrections AS c
                    WHERE c.pass_id = r.pass_id AND \(SubscriptionKey.agree("c", "r"))
                        AND c.superseded_by IS NULL AND c.fate <> 'applied')
                AND NOT EXISTS (SELECT 1 FROM trueup_pass_rows AS p
                    WHERE p.pass_id = r.pass_id AND \(SubscriptionKey.agree("p", "r"))
                        AND p.verdict = \(VerdictCode.undecided.rawValue))
            """, arguments)
        let written = try Row.fetchAll(
            db,
            sql: """
                SELECT r.bundle_id, r.environment, r.original_transaction_id FROM \(rows)
                WHERE EXISTS (SELECT 1 FROM trueup_pass_corrections AS c
                    WHERE c.pass_id = r.pass_id AND \(SubscriptionKey.agree("c", "r"))
                        AND c.target IN ('period', 'update_period') AND c.fate = 'applied')
                """,
            arguments: arguments)
        for row in written {
            try PeriodsDigest.update(
                of: SubscriptionKey(row, at: 0), afterWritesOfPass: run.passID, db)
        }
    }
}

/// Rows of a table in the order of their keys, to go through in chunks.
struct RowsInKeyOrder: Sendable {
    /// A source to select from.
    typealias Chunk = (sql: String, arguments: StatementArguments)

    let table: String
    /// SQL that is true for all of them.
    ///
    /// In the table's primary key it stands before the key of the rows: otherwise each chunk would
    /// read all of them.
    var condition = "true"

    private static let key = "bundle_id, environment, original_transaction_id"

    /// A chunk of rows from a key on.
    ///
    /// A limit and not an upper bound: SQLite seeks by one bound on the whole key only.
    func chunk(from start: StoredKey, _ count: Int, as name: String) -> Chunk {
        let sql = """
            (SELECT * FROM \(table) WHERE \(condition) AND (\(Self.key)) >= \(start.marks)
            ORDER BY \(Self.key) LIMIT ?) AS \(name)
            """
        return (sql, start.arguments + [count])
    }

    /// Where the next chunk begins.
    func key(after start: StoredKey, _ count: Int, _ db: Database) throws -> StoredKey? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT original_transaction_id, environment, bundle_id FROM \(table)
                WHERE \(condition) AND (\(Self.key)) >= \(start.marks)
                ORDER BY \(Self.key) LIMIT 1 OFFSET ?
                """)
        let next = try Row.fetchCursor(statement, arguments: start.arguments + [count])
        return try next.next().map(StoredKey.init)
    }
}

/// The findings of a checkpoint that a run's report lists, a chunk per transaction.
///
/// It counts only once the run has ended: what a killed run leaves, the next `begin` throws away.
extension RunConclusionWriter {
    private var chunks: PassChunks {
        PassChunks(
            table: "trueup_pass_findings", number: "finding_seq", passID: run.passID,
            rowsPerChunk: StoreLimits.scatteredRowsPerChunk)
    }

    /// Where the checkpoint's findings begin.
    func firstFinding(_ db: Database) throws -> Int64? { try chunks.first(db) }

    /// Stores the action and the state from run to run of each finding of a chunk; returns where
    /// the next chunk begins.
    func reportFindings(from first: Int64, _ db: Database) throws -> Int64? {
        let next = try chunks.next(after: first, db)
        try db.executeCached(
            """
            INSERT OR REPLACE INTO trueup_run_findings (
                run_seq, finding_seq, state, action, first_seen)
            SELECT ?, f.finding_seq,
                CASE WHEN c.fate = 'applied'
                        OR f.action IN ('corrected', 'inserted', 'recovered') THEN 'corrected'
                    -- Fixed by a correction, or by the company.
                    WHEN h.corrected_by IS NOT NULL OR h.state = 'resolved' THEN 'recurring'
                    WHEN h.finding_id IS NOT NULL AND NOT \(UnpublishedFindings.wasUnpublished) THEN 'open'
                    ELSE 'new' END,
                CASE WHEN c.fate IS NULL THEN f.action
                    WHEN c.fate = 'applied' AND c.target IN ('update', 'update_purchase')
                        THEN 'corrected'
                    WHEN c.fate = 'applied' THEN 'inserted'
                    WHEN c.fate = 'planned' THEN 'planned' ELSE 'refused' END,
                ifnull(h.first_seen, ?)
            FROM trueup_pass_findings AS f
            LEFT JOIN trueup_pass_corrections AS c ON c.correction_id = f.correction_id
            LEFT JOIN trueup_findings AS h ON h.finding_id = f.finding_id
            WHERE f.finding_seq >= ? AND f.finding_seq < ? AND \(chunks.isOfPass("f"))
                AND f.superseded_by IS NULL
            """,
            [
                run.sequence, header.started.unixMilliseconds, first, next ?? Int64.max,
                run.passID,
            ])
        try listCarriedNotFound(from: first, to: next ?? Int64.max, db)
        return next
    }

    /// Accounts that an earlier run did not find and that no one asked about in this checkpoint:
    /// each such finding is in `not_found.csv` as well.
    private func listCarriedNotFound(from first: Int64, to end: Int64, _ db: Database) throws {
        func isOf(_ table: String) -> String { SubscriptionKey.agree(table, "f") }
        let started = header.started.unixMilliseconds
        try db.executeCached(
            """
            INSERT OR IGNORE INTO trueup_run_not_found
            SELECT ?, f.bundle_id, f.environment, f.original_transaction_id, s.customer_id,
                ifnull(a.first_day, \(Self.dayFirstSeen)),
                ifnull(a.last_day, \(Self.dayFirstSeen)), ifnull(a.distinct_days, 1),
                CASE WHEN typeof(s.status) = 'integer' THEN s.status END,
                CASE WHEN typeof(s.signed_date) = 'integer' THEN s.signed_date END,
                (SELECT l.evidence FROM trueup_ledger AS l WHERE \(isOf("l"))
                    ORDER BY l.apple_signed_date DESC, l.entry DESC LIMIT 1)
            FROM trueup_pass_findings AS f
            LEFT JOIN trueup_findings AS h ON h.finding_id = f.finding_id
            LEFT JOIN trueup_absences AS a ON \(isOf("a"))
            LEFT JOIN subscriptions AS s ON \(isOf("s"))
            WHERE f.finding_seq >= ? AND f.finding_seq < ? AND \(chunks.isOfPass("f"))
                AND f.superseded_by IS NULL AND f.is_carried <> 0
                AND f.kind = '\(FindingKind.notFound.rawValue)'
            """,
            [run.sequence, started, started, first, end, run.passID])
    }

    /// SQL for the first day of an absence that is no longer recorded: a check by hand may have
    /// found the account without resolving the finding that the job reports.
    private static let dayFirstSeen = "date(ifnull(h.first_seen, ?) / 1000, 'unixepoch')"
}

extension SQLiteStore {
    /// Throws away what killed runs had prepared of their conclusions.
    func discardUnendedLists() async throws(StoreError) {
        let doing = "clearing what a killed run left"
        for (table, key) in Retention.listsOfRuns {
            while let run = try await read(doing, { db in try Retention.unended(in: table, db) }) {
                while try await write(
                    doing, { db in try Retention.deleteSome(of: table, key, run, db) })
                {}
            }
        }
    }
}

extension RunSummaryReader {
    /// SQL: whether the amount of the finding `f` counts among the findings `g`.
    ///
    /// Of a subscription's findings one counts with the price of a period for each direction, the most
    /// severe; of equally severe ones the first by kind and field, as the report sorts them. A
    /// difference of price is not a period's price and always counts.
    static func isCounted(among findings: String) -> String {
        """
        f.amount IS NOT NULL AND f.currency IS NOT NULL
            AND (f.kind = '\(FindingKind.price.rawValue)' OR NOT EXISTS (
                SELECT 1 FROM \(findings)
                WHERE g.pass_id = f.pass_id AND g.outcome_bundle_id = f.outcome_bundle_id
                    AND g.outcome_environment = f.outcome_environment
                    AND g.outcome_original_transaction_id = f.outcome_original_transaction_id
                    AND g.transaction_id = f.transaction_id AND g.direction = f.direction
                    AND g.currency = f.currency AND g.amount IS NOT NULL
                    AND g.kind <> '\(FindingKind.price.rawValue)'
                    AND (\(rank(of: "g")), f.kind, ifnull(f.field, ''), f.finding_seq)
                        > (\(rank(of: "f")), g.kind, ifnull(g.field, ''), g.finding_seq)))
        """
    }

    private static func rank(of finding: String) -> String {
        let cases = Severity.allCases.sorted().enumerated().map { rank, severity in
            "WHEN '\(severity.rawValue)' THEN \(rank)"
        }
        return "CASE \(finding).severity \(cases.joined(separator: " ")) ELSE -1 END"
    }
}
