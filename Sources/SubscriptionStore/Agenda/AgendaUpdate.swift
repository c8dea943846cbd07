import GRDB
import Subscriptions

/// What a run's end does with the agenda, for a chunk of the rows that its pass has looked at.
///
/// A line leaves when what follows from a verified statement about its own row is done: the row
/// agrees, or its correction is written, or what cannot be corrected is in the report. Everything
/// else stays, or comes back. docs/delta.md lists each way off the agenda.
struct AgendaUpdate: Sendable {
    let run: RunReference
    let started: Timestamp
    let ended: Timestamp
    /// Whether the guard accepted how many rows the table has: rows that are not in it may otherwise
    /// come back.
    let acceptsTable: Bool

    /// Does it for a source of rows of `trueup_pass_rows`, named `p`.
    func make(_ rows: String, _ arguments: StatementArguments, _ db: Database) throws {
        try noteChecks(rows, arguments, db)
        try takeOff(rows, arguments, db)
        try holdBack(rows, arguments, db)
    }

    private func noteChecks(
        _ rows: String, _ arguments: StatementArguments, _ db: Database
    ) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO trueup_checks (
                    bundle_id, environment, original_transaction_id, asked_at,
                    \(CheckRecord.columns.dropFirst().joined(separator: ", ")), customer, paid_group)
                SELECT p.bundle_id, p.environment, p.original_transaction_id, ?, p.signed_date,
                    p.clock, ifnull(p.is_lasting, 0), p.agreed, p.account, p.customer,
                    p.paid_group
                FROM \(rows)
                WHERE p.agreed IS NOT NULL AND p.verdict IN (\(VerdictCode.match.rawValue),
                    \(VerdictCode.discrepancy.rawValue), \(VerdictCode.inserted.rawValue))
                ON CONFLICT DO UPDATE SET asked_at = excluded.asked_at,
                    signed_date = excluded.signed_date,
                    -- What is judged without a statement leaves the date on which the last one ends.
                    clock = CASE WHEN excluded.signed_date IS NULL THEN ifnull(excluded.clock,
                        CASE WHEN trueup_checks.clock > excluded.asked_at
                            THEN trueup_checks.clock END) ELSE excluded.clock END,
                    is_lasting = excluded.is_lasting, agreed = excluded.agreed,
                    account = ifnull(excluded.account, trueup_checks.account),
                    customer = excluded.customer, paid_group = excluded.paid_group
                WHERE ifnull(trueup_checks.signed_date, 0) <= ifnull(excluded.signed_date, ?)
                """
        ).execute(
            arguments: [started.unixMilliseconds] + arguments + [ended.unixMilliseconds])
    }

    /// Corrections of the row `p` that are neither written nor replaced.
    private static let isUnwritten = """
        EXISTS (SELECT 1 FROM trueup_pass_corrections AS c
            WHERE c.pass_id = p.pass_id AND c.bundle_id = p.bundle_id
                AND c.environment = p.environment
                AND c.original_transaction_id = p.original_transaction_id
                AND c.superseded_by IS NULL AND c.fate <> 'applied')
        """

    /// That Apple's answer about the row `p` may be wrong once: it holds no verified statement about
    /// the row, or one that is older than the statement for which Apple was asked.
    private static let isDoubtful = """
        (p.is_doubtful = 1 OR p.asked_because IS NOT NULL AND EXISTS (
            SELECT 1 FROM trueup_agenda AS d WHERE d.bundle_id = p.bundle_id
                AND d.environment = p.environment
                AND d.original_transaction_id = p.original_transaction_id
                AND d.rests_on > p.signed_date))
        """

    /// A statement answers nothing that rests on a younger one.
    private func takeOff(_ rows: String, _ arguments: StatementArguments, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                DELETE FROM trueup_agenda
                WHERE (bundle_id, environment, original_transaction_id) IN (
                    SELECT p.bundle_id, p.environment, p.original_transaction_id FROM \(rows)
                    JOIN trueup_agenda AS a ON a.bundle_id = p.bundle_id
                        AND a.environment = p.environment
                        AND a.original_transaction_id = p.original_transaction_id
                    WHERE (p.verdict IN (\(VerdictCode.match.rawValue),
                                \(VerdictCode.discrepancy.rawValue),
                                \(VerdictCode.inserted.rawValue))
                            -- A subscription without a row: it was answered, or the row is gone.
                            OR p.verdict = \(VerdictCode.noted.rawValue)
                                AND (a.reason = \(QuestionReason.notification.rank) OR ?))
                        AND p.is_doubtful = 0 AND NOT \(Self.isUnwritten)
                        AND (a.rests_on IS NULL OR p.signed_date IS NULL
                            OR a.rests_on <= p.signed_date))
                """
        ).execute(arguments: arguments + [acceptsTable])
    }

    private func holdBack(_ rows: String, _ arguments: StatementArguments, _ db: Database) throws {
        let (held, named) = (QuestionReason.heldBack.rank, QuestionReason.notification.rank)
        let noted = VerdictCode.noted.rawValue
        // A row that is undecided, or whose correction is not written, is asked about in each run.
        try db.cachedStatement(
            sql: """
                INSERT INTO trueup_agenda (
                    bundle_id, environment, original_transaction_id, reason, turn, since, attempts,
                    doubts)
                SELECT p.bundle_id, p.environment, p.original_transaction_id,
                    CASE p.verdict WHEN \(noted) THEN \(named) ELSE \(held) END,
                    CASE p.verdict WHEN \(noted) THEN \(named) ELSE \(held) END * 2,
                    ?, 1, p.verdict <> \(VerdictCode.undecided.rawValue) AND NOT \(Self.isUnwritten)
                FROM \(rows)
                WHERE p.verdict = \(VerdictCode.undecided.rawValue) OR \(Self.isUnwritten)
                    OR \(Self.isDoubtful)
                ON CONFLICT DO UPDATE SET attempts = attempts + 1,
                    doubts = CASE excluded.doubts WHEN 0 THEN 0 ELSE doubts + 1 END,
                    not_before = CASE WHEN excluded.doubts = 1
                        AND doubts >= \(RestingQuestions.runsInARow) THEN ? END
                """
        ).execute(
            arguments: [started.unixMilliseconds] + arguments + [
                RestingQuestions.end(after: started).unixMilliseconds
            ])
    }
}

/// What a run took off the agenda before it was killed in its conclusion, of a checkpoint that no run
/// resumes.
///
/// The conclusion works in chunks before the run's last transaction, and only that one lets its
/// findings count. So every row with a finding of such a checkpoint is asked about again.
struct UnconcludedQuestions: Sendable {
    let passID: Int64
    private let began: Int64

    /// The dropped checkpoints whose newest run did not come to its end.
    static func all(_ db: Database) throws -> [UnconcludedQuestions] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT p.pass_id, p.began FROM trueup_passes AS p
                WHERE p.state = 'dropped' AND p.mode = '\(RunMode.apply.rawValue)'
                    AND (SELECT r.ended FROM trueup_runs AS r WHERE r.pass_id = p.pass_id
                        ORDER BY r.run_seq DESC LIMIT 1) IS NULL
                """
        ).map {
            UnconcludedQuestions(passID: $0.integer(at: 0) ?? 0, began: $0.integer(at: 1) ?? 0)
        }
    }

    /// Puts the questions of a chunk of rows back; returns where the next chunk begins.
    func putBack(from start: StoredKey, _ db: Database) throws -> StoredKey? {
        let (held, named) = (QuestionReason.heldBack.rank, QuestionReason.notification.rank)
        let reason =
            "CASE p.verdict WHEN \(VerdictCode.noted.rawValue) THEN \(named) ELSE \(held) END"
        try db.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO trueup_agenda (
                    bundle_id, environment, original_transaction_id, reason, turn, since)
                SELECT p.bundle_id, p.environment, p.original_transaction_id,
                    \(reason), \(reason) * 2, ?
                FROM (SELECT * FROM trueup_pass_rows
                    WHERE pass_id = ? AND (bundle_id, environment, original_transaction_id)
                        >= \(start.marks)
                    ORDER BY bundle_id, environment, original_transaction_id
                    LIMIT \(StoreLimits.rowsPerChunk)) AS p
                WHERE p.verdict IN (\(VerdictCode.discrepancy.rawValue), \(VerdictCode.noted.rawValue))
                    AND EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                        INDEXED BY trueup_pass_findings_by_outcome
                        WHERE f.pass_id = p.pass_id AND f.outcome_bundle_id = p.bundle_id
                            AND f.outcome_environment = p.environment
                            AND f.outcome_original_transaction_id = p.original_transaction_id)
                """
        ).execute(arguments: [began, passID] + start.arguments)
        let next = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT original_transaction_id, environment, bundle_id FROM trueup_pass_rows
                    WHERE pass_id = ? AND (bundle_id, environment, original_transaction_id)
                        >= \(start.marks)
                    ORDER BY bundle_id, environment, original_transaction_id
                    LIMIT 1 OFFSET \(StoreLimits.rowsPerChunk)
                    """), arguments: [passID] + start.arguments)
        return try next.next().map(StoredKey.init)
    }
}
