import GRDB
import Subscriptions

/// Puts the rows of a job's open findings on the agenda, a chunk of findings at a time.
struct FindingQuestions: Sendable {
    let run: RunHeader

    /// Asks about the rows of a chunk of findings `h`, stored as `s`, of which a condition in SQL holds;
    /// returns the id with which the next one begins.
    func ask(from first: String, where condition: String, _ db: Database) throws -> String? {
        let next = try FindingLook.next(after: StoreLimits.scatteredRowsPerChunk, from: first, db)
        let reason = QuestionReason.heldBack
        try db.execute(
            sql: """
                \(AgendaLines.insertion)
                SELECT s.bundle_id, s.environment, s.original_transaction_id, ?1, ?2, ?3, 0
                FROM trueup_findings AS h
                JOIN subscriptions AS s ON s.bundle_id = h.bundle_id
                    AND s.environment = h.environment
                    AND s.original_transaction_id = h.original_transaction_id
                WHERE h.state IN \(FindingLook.unresolved)
                    AND h.finding_id >= ?4 AND h.finding_id < ?5
                    AND EXISTS (SELECT 1 FROM trueup_finding_jobs AS j
                        WHERE j.finding_id = h.finding_id AND j.job = ?6)
                    AND \(FindingLook.isOfAnApp(narrowing: "?7"))
                    AND \(condition)
                \(AgendaLines.wakingUp)
                """,
            arguments: [
                reason.rank, AgendaLine.turn(reason, isEntitling: true),
                run.started.unixMilliseconds, first, next ?? "~", run.job,
                TextList.encode(run.narrowing),
            ])
        return next
    }
}
