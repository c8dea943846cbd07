import GRDB
import Subscriptions

/// Why planned corrections were held back: the subscription that continues the access they end
/// is not in the table.
struct HeldBackCauses: Sendable {
    let run: RunReference

    private var chunks: PassChunks {
        PassChunks(
            table: "trueup_pass_corrections", number: "correction_id", passID: run.passID,
            rowsPerChunk: StoreLimits.rowsPerChunk)
    }

    /// Where the corrections of the pass begin.
    func first(_ db: Database) throws -> Int64? { try chunks.first(db) }

    /// Stores the reason as the cause of the findings that these corrections would have resolved;
    /// returns where the next chunk begins.
    func write(from first: Int64, _ db: Database) throws -> Int64? {
        let next = try chunks.next(after: first, db)
        let held = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT f.finding_seq, c.continued_by FROM trueup_pass_corrections AS c
                    JOIN trueup_pass_findings AS f ON f.pass_id = c.pass_id
                        AND f.outcome_bundle_id = c.bundle_id
                        AND f.outcome_environment = c.environment
                        AND f.outcome_original_transaction_id = c.original_transaction_id
                        AND f.correction_id = c.correction_id
                    WHERE c.correction_id >= ? AND c.correction_id < ? AND \(chunks.isOfPass("c"))
                        AND c.fate = 'held_back' AND c.superseded_by IS NULL
                        AND f.superseded_by IS NULL
                    """),
            arguments: [first, next ?? Int64.max, run.passID])
        for row in held {
            guard let reason = Self.reason(row.requiredText(at: 1)) else { continue }
            try db.cachedStatement(
                sql: "INSERT OR REPLACE INTO trueup_run_finding_causes VALUES (?, ?, ?)"
            ).execute(arguments: [run.sequence, row.integer(at: 0), reason])
        }
        return next
    }

    /// The cause, from a correction's `continued_by`; `nil` when it waits for no subscription.
    static func reason(_ continuedBy: String) -> String? {
        TextList.decode(continuedBy).first.map(VetoCause.heldBack(until:))
    }
}
