import GRDB
import Subscriptions

/// What a run's report says of the findings of its pass, a chunk per transaction.
///
/// It counts only once the run has ended: what a killed run leaves, the next `begin` throws away.
struct RunFindings: Sendable {
    let run: RunReference
    let started: Timestamp

    private var chunks: PassChunks {
        PassChunks(
            table: "trueup_pass_findings", number: "finding_seq", passID: run.passID,
            rowsPerChunk: StoreLimits.scatteredRowsPerChunk)
    }

    /// Where the pass's findings begin.
    func first(_ db: Database) throws -> Int64? { try chunks.first(db) }

    /// Stores the action and the state over the nights of each finding of a chunk; returns
    /// where the next chunk begins.
    func report(from first: Int64, _ db: Database) throws -> Int64? {
        let next = try chunks.next(after: first, db)
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO trueup_run_findings (
                    run_seq, finding_seq, state, action, first_seen)
                SELECT ?, f.finding_seq,
                    CASE WHEN c.fate = 'applied'
                            OR f.action IN ('corrected', 'inserted', 'recovered') THEN 'corrected'
                        -- Mended by a correction, or by the company.
                        WHEN h.corrected_by IS NOT NULL OR h.state = 'resolved' THEN 'recurring'
                        WHEN h.finding_id IS NOT NULL AND NOT \(OwedFindings.wasOwed) THEN 'open'
                        ELSE 'new' END,
                    CASE WHEN c.fate IS NULL THEN f.action
                        WHEN c.fate = 'applied' AND c.target = 'update' THEN 'corrected'
                        WHEN c.fate = 'applied' THEN 'inserted'
                        WHEN c.fate = 'planned' THEN 'planned' ELSE 'refused' END,
                    ifnull(h.first_seen, ?)
                FROM trueup_pass_findings AS f
                LEFT JOIN trueup_pass_corrections AS c ON c.correction_id = f.correction_id
                LEFT JOIN trueup_findings AS h ON h.finding_id = f.finding_id
                WHERE f.finding_seq >= ? AND f.finding_seq < ? AND \(chunks.isOfPass("f"))
                    AND f.superseded_by IS NULL
                """
        ).execute(
            arguments: [
                run.sequence, started.unixMilliseconds, first, next ?? Int64.max, run.passID,
            ])
        try listCarriedNotFound(from: first, to: next ?? Int64.max, db)
        return next
    }

    /// Accounts that an earlier night did not find and that nobody asked about in this pass: each such
    /// finding stands in `not_found.csv` as well.
    private func listCarriedNotFound(from first: Int64, to end: Int64, _ db: Database) throws {
        let isItsKey = ["bundle_id", "environment", "original_transaction_id"]
        func isOf(_ table: String) -> String {
            isItsKey.map { "\(table).\($0) = f.\($0)" }.joined(separator: " AND ")
        }
        try db.cachedStatement(
            sql: """
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
                """
        ).execute(
            arguments: [
                run.sequence, started.unixMilliseconds, started.unixMilliseconds, first, end,
                run.passID,
            ])
    }

    /// What stands for the days of an absence that is no longer noted: a look by hand may have found
    /// the account without resolving what the job reports.
    private static let dayFirstSeen = "date(ifnull(h.first_seen, ?) / 1000, 'unixepoch')"
}
