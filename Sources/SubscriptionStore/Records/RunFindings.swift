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
                        WHEN h.corrected_by IS NOT NULL THEN 'recurring'
                        WHEN h.finding_id IS NOT NULL THEN 'open' ELSE 'new' END,
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
        return next
    }
}
