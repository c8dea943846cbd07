import GRDB
import Subscriptions

/// Findings of an earlier checkpoint that no published report has shown, and that the next run
/// repeats.
///
/// Of a run that ended these are the new, recurring and corrected ones that it listed. Of a
/// checkpoint that was dropped, or whose newest run was killed, these are the findings about
/// notifications, which no later run finds again, and the corrected ones, because no run may ever
/// resume that checkpoint. Each run repeats them until a report that lists them is published.
struct UnpublishedFindings: Sendable {
    /// The value of `is_carried` of a finding that is repeated because no report has shown it.
    static let mark = 2

    /// A condition: no published report had shown the finding `f` when its checkpoint began.
    static let wasUnpublished = """
        EXISTS (SELECT 1 FROM trueup_pass_findings AS o INDEXED BY trueup_pass_findings_owed
            WHERE o.pass_id = f.pass_id AND o.finding_id = f.finding_id
                AND o.is_carried = \(mark))
        """

    /// The checkpoint whose findings no report has shown, and the one that repeats them.
    private let source: Int64
    private let opened: PassOpening.Opened
    /// The ended runs of the source with and without a published report.
    private let published: [Int64]
    private let unpublished: [Int64]
    /// Whether no run resumes the source.
    private let isOver: Bool
    /// Whether the newest run of the source may have changed something and did not come to its end.
    private let wasKilled: Bool
    /// Whether only what was corrected is repeated: a run that checks no rows reports what it does.
    private let isFixedOnly: Bool

    private var isOwnPass: Bool { source == opened.passID }

    private var chunks: PassChunks {
        PassChunks(
            table: "trueup_pass_findings", number: "finding_seq", passID: source,
            rowsPerChunk: StoreLimits.scatteredRowsPerChunk)
    }

    /// The sources: checkpoints of unpublished runs, and those that have just been dropped.
    ///
    /// A plan or an undo repeats only those of its like; the rest waits for a run that checks rows.
    static func all(
        for opened: PassOpening.Opened, of run: RunHeader, _ db: Database
    ) throws -> [UnpublishedFindings] {
        let awaited = try db.integers(
            """
            SELECT DISTINCT r.pass_id FROM trueup_awaited_reports AS a
            JOIN trueup_runs AS r ON r.run_id = a.run_id WHERE a.run_id <> ?
            """, [run.runID])
        let applications = try Set(
            db.integers("SELECT pass_id FROM trueup_applications"))
        let sources = Set(awaited).union(opened.dropped).filter {
            run.judgesRows || applications.contains($0)
        }
        return try sources.sorted().map { source in
            let ended = "SELECT run_seq FROM trueup_runs WHERE pass_id = ? AND ended IS NOT NULL"
            let awaited = "(SELECT run_id FROM trueup_awaited_reports)"
            let published = try db.integers("\(ended) AND run_id NOT IN \(awaited)", [source])
            let unpublished = try db.integers("\(ended) AND run_id IN \(awaited)", [source])
            // Every run finds again what a check found of notifications.
            let pass = try db.row(
                """
                SELECT state <> 'open', mode = 'apply' AND (SELECT r.ended IS NULL
                    FROM trueup_runs AS r WHERE r.pass_id = p.pass_id
                    ORDER BY r.run_seq DESC LIMIT 1)
                FROM trueup_passes AS p WHERE pass_id = ?
                """, [source])
            return UnpublishedFindings(
                source: source, opened: opened, published: published, unpublished: unpublished,
                isOver: pass?.integer(at: 0) != 0, wasKilled: pass?.integer(at: 1) == 1,
                isFixedOnly: !run.judgesRows)
        }
    }

    /// Where the findings of the source begin.
    func first(_ db: Database) throws -> Int64? { try chunks.first(db) }

    /// Repeats a chunk; returns where the next one begins.
    func take(from first: Int64, _ db: Database) throws -> Int64? {
        let next = try chunks.next(after: first, db)
        let range: StatementArguments = [first, next ?? Int64.max, source]
        let columns = OutcomeStaging.findingColumns.joined(separator: ", ")
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO trueup_pass_findings
                    (pass_id, \(columns), is_carried, superseded_by)
                SELECT ?, \(values), \(Self.mark), ?
                FROM trueup_pass_findings AS f
                LEFT JOIN trueup_pass_corrections AS c ON c.correction_id = f.correction_id
                WHERE \(isOfChunk) AND \(isPending)
                """,
            // Its own checkpoint still has the finding; it is only marked as unpublished.
            arguments: [opened.passID, isOwnPass ? opened.sequence : nil] + range)
        guard !isOwnPass else { return next }
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO trueup_pass_notifications (
                    pass_id, staged_by, \(Self.ofNotification))
                SELECT ?, ?, \(Self.ofNotification) FROM trueup_pass_notifications AS n
                WHERE n.pass_id = ? AND (n.bundle_id, n.environment, n.notification_uuid) IN (
                    SELECT f.bundle_id, f.environment, f.field FROM trueup_pass_findings AS f
                    LEFT JOIN trueup_pass_corrections AS c ON c.correction_id = f.correction_id
                    WHERE \(isOfChunk) AND \(Self.isOfNotification) AND \(isPending))
                """, arguments: [opened.passID, opened.sequence, source] + range)
        if !isOver {
            // This run reports them now, not the run that resumes that checkpoint.
            try db.execute(
                sql: """
                    UPDATE trueup_pass_findings AS f
                    SET is_carried = 1, superseded_by = ifnull(superseded_by, ?)
                    WHERE \(isOfChunk) AND f.is_carried = \(Self.mark)
                    """, arguments: [opened.sequence] + range)
        }
        return next
    }

    private var isOfChunk: String {
        "f.finding_seq >= ? AND f.finding_seq < ? AND \(chunks.isOfPass("f"))"
    }

    static let isOfNotification = "f.kind IN ('notification_missed', 'notification_lost')"

    /// A condition: a run of another checkpoint recovered the notification of the finding `f`.
    ///
    /// Each is reported once, by that run's report or by the one that repeats its findings.
    static let isRecovered = """
        EXISTS (SELECT 1 FROM trueup_findings AS h
            JOIN trueup_runs AS u ON u.run_seq = h.corrected_by
            WHERE h.finding_id = f.finding_id AND u.pass_id <> f.pass_id)
        """

    /// A condition: a later run of another checkpoint listed it in a published report.
    private static let wasListedSince = """
        (f.is_carried = 0 AND EXISTS (SELECT 1 FROM trueup_findings AS h
            JOIN trueup_runs AS u ON u.pass_id = h.last_pass_id AND u.pass_id <> f.pass_id
            JOIN trueup_pass_findings AS g ON g.pass_id = u.pass_id
                AND g.finding_id = h.finding_id AND g.superseded_by IS NULL
            JOIN trueup_run_findings AS l ON l.run_seq = u.run_seq
                AND l.finding_seq = g.finding_seq
            WHERE h.finding_id = f.finding_id AND u.ended IS NOT NULL
                AND u.run_id NOT IN (SELECT run_id FROM trueup_awaited_reports)
                AND u.run_seq > (SELECT max(o.run_seq) FROM trueup_runs AS o
                    WHERE o.pass_id = f.pass_id)))
        """

    /// A condition: a later run of another checkpoint reported it as fixed, in a published report.
    ///
    /// - Parameter sequence: A run of the finding's pass that began after that.
    /// - Returns: A condition on the finding `f`.
    static func wasReportedFixed(before sequence: Int64 = .max) -> String {
        """
        EXISTS (SELECT 1 FROM trueup_findings AS h
            JOIN trueup_runs AS u ON u.run_seq = h.corrected_by
            WHERE h.finding_id = f.finding_id AND u.pass_id <> f.pass_id
                AND u.run_id NOT IN (SELECT run_id FROM trueup_awaited_reports)
                AND u.run_seq > (SELECT max(o.run_seq) FROM trueup_runs AS o
                    WHERE o.pass_id = f.pass_id AND o.run_seq < \(sequence)))
        """
    }

    private static let isFixed =
        "(ifnull(c.fate, '') = 'applied' OR f.action IN ('corrected', 'inserted', 'recovered'))"

    private var isPending: String {
        let isListed = """
            f.is_carried <> 1 AND f.superseded_by IS NULL
                AND EXISTS (SELECT 1 FROM trueup_run_findings AS r
                    WHERE r.run_seq IN (\(Self.list(unpublished)))
                        AND r.finding_seq = f.finding_seq
                        AND r.state IN ('new', 'recurring', 'corrected'))
            """
        guard !isOwnPass else { return "f.is_carried = 0 AND \(isListed)" }
        // No report has shown what a run that did not end put in its place either.
        let lastEnded = (published + unpublished).max() ?? 0
        var conditions = [
            isListed,
            "f.is_carried = \(Self.mark) AND ifnull(f.superseded_by > \(lastEnded), 1)",
        ]
        if isOver || wasKilled {
            conditions.append(
                """
                f.is_carried = 0 AND f.superseded_by IS NULL
                    AND (\(Self.isOfNotification) OR \(Self.isFixed))
                """)
        }
        return """
            (\(conditions.map { "(\($0))" }.joined(separator: " OR ")))
                AND \(isFixedOnly ? Self.isFixed : "1")
                AND NOT (\(Self.isOfNotification) AND NOT \(Self.isFixed)
                    AND (\(Self.isRecovered) OR \(Self.wasListedSince)))
                AND NOT (\(Self.isFixed) AND \(Self.wasReportedFixed()))
                AND NOT EXISTS (SELECT 1 FROM trueup_run_findings AS r
                    WHERE r.run_seq IN (\(Self.list(published)))
                        AND r.finding_seq = f.finding_seq
                        AND (r.state = 'corrected' OR NOT \(Self.isFixed)))
            """
    }

    /// The columns for the checkpoint that repeats them, which plans none of their corrections.
    private var values: String {
        OutcomeStaging.findingColumns.map { column in
            switch column {
            case "action":
                """
                CASE WHEN c.fate = 'applied' AND c.target IN ('update', 'update_purchase')
                        THEN 'corrected'
                    WHEN c.fate = 'applied' THEN 'inserted'
                    WHEN f.action IN ('corrected', 'inserted', 'recovered', 'refused')
                        THEN f.action
                    WHEN c.fate <> 'planned' THEN 'refused' ELSE 'none' END
                """
            case "cause":
                """
                ifnull((SELECT k.cause FROM trueup_run_finding_causes AS k
                    WHERE k.run_seq IN (\(Self.list(unpublished)))
                        AND k.finding_seq = f.finding_seq
                    ORDER BY k.run_seq DESC LIMIT 1), f.cause)
                """
            default: "f.\(column)"
            }
        }.joined(separator: ", ")
    }

    private static let ofNotification = """
        bundle_id, environment, notification_uuid, notification_type, subtype, signed_date,
        original_transaction_id, attempts, last_attempt_result, verdict, evidence
        """

    /// SQLite plans a scan where the list behind `IN` is empty.
    private static func list(_ numbers: [Int64]) -> String {
        numbers.isEmpty ? "NULL" : numbers.map(String.init).joined(separator: ", ")
    }
}
