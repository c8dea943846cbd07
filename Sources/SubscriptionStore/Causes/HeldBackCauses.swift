import GRDB
import Subscriptions

/// Why corrections were held back that the plan would have written: the access that they end goes
/// on under an id that is not in the table.
struct HeldBackCauses: Sendable {
    let run: RunReference

    /// Where the corrections of the pass begin.
    func first(_ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db, sql: "SELECT min(correction_id) FROM trueup_pass_corrections WHERE pass_id = ?",
            arguments: [run.passID])
    }

    /// Writes it as the cause of the findings that a chunk of these corrections would have mended;
    /// returns where the next chunk begins.
    func write(from first: Int64, _ db: Database) throws -> Int64? {
        // Without the plus SQLite would take the index of the pass and sort all of it each time.
        let next = try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT correction_id FROM trueup_pass_corrections
                    WHERE correction_id >= ? AND +pass_id = ? ORDER BY correction_id
                    LIMIT 1 OFFSET \(StoreLimits.rowsPerChunk)
                    """),
            arguments: [first, run.passID])
        let held = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT f.finding_seq, c.continued_by FROM trueup_pass_corrections AS c
                    JOIN trueup_pass_findings AS f ON f.pass_id = c.pass_id
                        AND f.outcome_bundle_id = c.bundle_id
                        AND f.outcome_environment = c.environment
                        AND f.outcome_original_transaction_id = c.original_transaction_id
                        AND f.correction_id = c.correction_id
                    WHERE c.correction_id >= ? AND c.correction_id < ? AND +c.pass_id = ?
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

    /// The cause, out of a correction's column `continued_by`; `nil` where it waits for nothing.
    static func reason(_ continuedBy: String) -> String? {
        TextList.decode(continuedBy).first.map(HeldBackReason.text(until:))
    }
}
