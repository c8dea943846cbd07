import GRDB
import Subscriptions

/// What a conclusion counts over all rows of a pass, read before its transaction takes the lock:
/// nobody else changes what is counted while a run goes on.
struct ConclusionTally: Sendable {
    struct Count: Sendable {
        let verdict: Int64
        let reason: String
        let rows: Int
    }

    let counts: [Count]
    let evidence: EvidenceAccount.Sum
    /// Whether something of the plan is neither written nor a row that moved.
    let leavesPlanOpen: Bool

    init(of run: RunReference, _ db: Database) throws {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT verdict, ifnull(reason, ''), count(*) FROM trueup_pass_rows
                WHERE pass_id = ?1 AND verdict IN (
                    \(VerdictCode.match.rawValue), \(VerdictCode.discrepancy.rawValue),
                    \(VerdictCode.excluded.rawValue))
                GROUP BY verdict, reason
                UNION ALL
                SELECT \(VerdictCode.undecided.rawValue), reason, count(*)
                FROM trueup_run_undecided WHERE run_seq = ?2 GROUP BY reason
                """,
            arguments: [run.passID, run.sequence])
        counts = rows.map { row in
            Count(
                verdict: row.integer(at: 0) ?? 0, reason: row.requiredText(at: 1),
                rows: row.number(at: 2) ?? 0)
        }
        evidence = try EvidenceAccount(db: db).sumSinceLastRun()
        leavesPlanOpen =
            try Bool.fetchOne(
                db,
                sql: """
                    SELECT EXISTS (SELECT 1 FROM trueup_pass_corrections
                        WHERE pass_id = ? AND superseded_by IS NULL
                            AND fate NOT IN ('applied', 'stale'))
                    """,
                arguments: [run.passID]) ?? true
    }
}
