import GRDB
import Subscriptions

/// What a pass found when it was scheduled, and how much of it is done.
struct ScheduledPass {
    let db: Database
    let passID: Int64

    init(_ db: Database, _ passID: Int64) {
        self.db = db
        self.passID = passID
    }

    /// `nil` before the pass is scheduled.
    func counts() throws -> ScheduleCounts? {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT scheduled_rows, quiet_rows, oldest_check, sample_seed FROM trueup_passes
                WHERE pass_id = ? AND scheduled_rows IS NOT NULL
                """, arguments: [passID])
        guard let row else { return nil }
        var counts = ScheduleCounts()
        counts.rows = row.number(at: 0) ?? 0
        counts.quiet = row.number(at: 1) ?? 0
        counts.oldestCheck = row.time(at: 2)
        counts.seed = UInt64(bitPattern: row.integer(at: 3) ?? 0)
        counts.due = try byReason(
            """
            SELECT turn / 2, count(*) FROM trueup_pass_questions
            WHERE pass_id = ? AND turn >= \(AgendaLines.firstDueTurn) GROUP BY 1
            """)
        return counts
    }

    func note(_ counts: ScheduleCounts) throws {
        try db.execute(
            sql: """
                UPDATE trueup_passes SET scheduled_rows = ?, quiet_rows = ?, oldest_check = ?,
                    sample_seed = ?
                WHERE pass_id = ?
                """,
            arguments: [
                counts.rows, counts.quiet, counts.oldestCheck?.unixMilliseconds,
                Int64(bitPattern: counts.seed), passID,
            ])
    }

    func coverage(kind: RunCoverage.Kind) throws -> RunCoverage {
        var coverage = RunCoverage(kind: kind)
        let counts = try counts()
        coverage.rows = counts?.rows
        coverage.quiet = counts?.quiet
        coverage.oldestCheck = counts?.oldestCheck
        coverage.asked = try byReason(Self.answered(where: Self.hasOwnQuestion))
        coverage.askedBeside = try byReason(Self.answered(where: "NOT (\(Self.hasOwnQuestion))"))
            .values.reduce(0, +)
        coverage.settledByNotification =
            try Int.fetchOne(
                db,
                sql: """
                    SELECT count(*) FROM trueup_pass_rows
                    WHERE pass_id = ? AND asked_because IS NULL AND signed_date IS NOT NULL
                        AND verdict = \(VerdictCode.match.rawValue)
                    """, arguments: [passID]) ?? 0
        coverage.left = try byReason(Self.left)
        if let counts, counts.due[.sample, default: 0] > 0 {
            coverage.sample = try sample(seed: counts.seed)
        }
        let count = PlanCount(db: db, passID: passID)
        switch kind {
        case .delta: coverage.routine = try count.routine()
        case .full: coverage.roundBefore = try count.rowsOfRoundBefore()
        }
        return coverage
    }

    /// Rows `p` that Apple was asked about, by the reason of the question that judged them.
    private static func answered(where condition: String) -> String {
        """
        SELECT p.asked_because, count(*) FROM trueup_pass_rows AS p
        WHERE p.pass_id = ?1 AND p.asked_because IS NOT NULL
            AND p.verdict IN (\(VerdictCode.match.rawValue),
                \(VerdictCode.discrepancy.rawValue), \(VerdictCode.undecided.rawValue))
            AND ifnull(p.reason, '') <> '\(UndecidedReason.deadline.rawValue)'
            AND (\(condition))
        GROUP BY 1
        """
    }

    /// That the row `p` was to be asked about for the reason of the question that judged it.
    private static let hasOwnQuestion = """
        EXISTS (SELECT 1 FROM trueup_passes AS w
            WHERE w.pass_id = p.pass_id AND w.covers_every_row = 1)
        OR EXISTS (SELECT 1 FROM trueup_pass_questions AS q WHERE q.pass_id = p.pass_id
            AND q.turn IN (p.asked_because * 2, p.asked_because * 2 + 1)
            AND q.bundle_id = p.bundle_id AND q.environment = p.environment
            AND q.original_transaction_id = p.original_transaction_id)
        OR EXISTS (SELECT 1 FROM trueup_agenda AS a WHERE a.bundle_id = p.bundle_id
            AND a.environment = p.environment
            AND a.original_transaction_id = p.original_transaction_id
            AND a.reason = p.asked_because)
        """

    /// Questions of the pass, and what is owed, about which nothing was judged.
    private static let left = """
        SELECT reason, count(*) FROM (
            SELECT turn / 2 AS reason, bundle_id, environment, original_transaction_id
            FROM trueup_pass_questions WHERE pass_id = ?1
            UNION SELECT reason, bundle_id, environment, original_transaction_id
            FROM trueup_agenda WHERE \(AgendaLines.isForThisRun())) AS q
        WHERE NOT EXISTS (SELECT 1 FROM trueup_pass_rows AS p WHERE p.pass_id = ?1
            AND p.bundle_id = q.bundle_id AND p.environment = q.environment
            AND p.original_transaction_id = q.original_transaction_id
            AND ifnull(p.reason, '') <> '\(UndecidedReason.deadline.rawValue)')
        GROUP BY 1
        """

    /// A drawn row that was not judged is counted apart: nobody knows whether it differs.
    private func sample(seed: UInt64) throws -> RunCoverage.Sample {
        let isJudged = """
            p.verdict IN (
                \(VerdictCode.match.rawValue), \(VerdictCode.discrepancy.rawValue))
            """
        let own = QuestionReason.sample.rank
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT count(*), sum(p.verdict = \(VerdictCode.discrepancy.rawValue)),
                    sum(NOT (\(isJudged))),
                    sum(\(isJudged) AND p.asked_because IS \(own)),
                    sum(\(isJudged) AND p.asked_because IS NOT NULL AND p.asked_because <> \(own)),
                    sum(\(isJudged) AND p.asked_because IS NULL)
                FROM trueup_pass_questions AS q
                JOIN trueup_pass_rows AS p ON p.pass_id = q.pass_id
                    AND p.bundle_id = q.bundle_id AND p.environment = q.environment
                    AND p.original_transaction_id = q.original_transaction_id
                WHERE q.pass_id = ? AND q.turn / 2 = \(QuestionReason.sample.rank)
                """, arguments: [passID])
        return RunCoverage.Sample(
            drawn: row?.number(at: 0) ?? 0, differing: row?.number(at: 1) ?? 0,
            notJudged: row?.number(at: 2) ?? 0,
            judgedBy: .init(
                ownQuestion: row?.number(at: 3) ?? 0, otherQuestion: row?.number(at: 4) ?? 0,
                notification: row?.number(at: 5) ?? 0),
            bound: 0, seed: seed)
    }

    private func byReason(_ sql: String) throws -> [QuestionReason: Int] {
        var counts: [QuestionReason: Int] = [:]
        for row in try Row.fetchAll(db, sql: sql, arguments: [passID]) {
            guard let reason = QuestionReason(rank: row.integer(at: 0) ?? -1) else { continue }
            counts[reason, default: 0] += row.number(at: 1) ?? 0
        }
        return counts
    }
}
