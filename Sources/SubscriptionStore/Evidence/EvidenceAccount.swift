import GRDB
import Subscriptions

/// What a run added to the evidence, in bytes.
struct EvidenceAccount {
    let db: Database

    /// Digest in the row and in its index, and SQLite's own bytes a row and an index entry.
    private static let overheadBytes = 2 * 64 + 24

    /// Counts what was added since the last concluded run; what a killed run added counts here.
    func close(run sequence: Int64) throws {
        let since =
            try Int64.fetchOne(
                db, sql: "SELECT ifnull(max(last_evidence_id), 0) FROM trueup_run_evidence") ?? 0
        try db.execute(
            sql: """
                INSERT INTO trueup_run_evidence
                SELECT ?1, ifnull(sum(1 + CASE WHEN ifnull(cuts, '') = '' THEN 0
                        ELSE 1 + length(cuts) - length(replace(cuts, ',', '')) END), 0),
                    ifnull(sum(received_bytes), 0),
                    ifnull(sum(length(rest) + \(Self.overheadBytes)), 0),
                    ifnull(max(evidence_id), ?2)
                FROM trueup_evidence WHERE evidence_id > ?2
                """,
            arguments: [sequence, since])
    }

    func cost(ofRun sequence: Int64) throws -> EvidenceCost {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT statements, received_bytes, stored_bytes FROM trueup_run_evidence
                WHERE run_seq = ?
                """,
            arguments: [sequence])
        return EvidenceCost(
            statements: row?.number(at: 0) ?? 0, receivedBytes: row?.integer(at: 1) ?? 0,
            storedBytes: row?.integer(at: 2) ?? 0)
    }
}
