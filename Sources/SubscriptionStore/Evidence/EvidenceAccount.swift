import GRDB
import Subscriptions

/// What a run added to the evidence, in bytes.
struct EvidenceAccount {
    let db: Database

    /// Digest in the row and in its index, and SQLite's own bytes a row and an index entry.
    private static let overheadBytes = 2 * 64 + 24

    struct Sum: Sendable {
        let statements: Int
        let receivedBytes: Int64
        let storedBytes: Int64
        let lastEvidenceID: Int64
    }

    /// Counts what was added since the last concluded run; what a killed run added counts here.
    func sumSinceLastRun() throws -> Sum {
        let since =
            try Int64.fetchOne(
                db, sql: "SELECT ifnull(max(last_evidence_id), 0) FROM trueup_run_evidence") ?? 0
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT ifnull(sum(1 + CASE WHEN ifnull(cuts, '') = '' THEN 0
                        ELSE 1 + length(cuts) - length(replace(cuts, ',', '')) END), 0),
                    ifnull(sum(received_bytes), 0),
                    ifnull(sum(length(rest) + \(Self.overheadBytes)), 0),
                    ifnull(max(evidence_id), ?1)
                FROM trueup_evidence WHERE evidence_id > ?1
                """,
            arguments: [since])
        return Sum(
            statements: row?.number(at: 0) ?? 0, receivedBytes: row?.integer(at: 1) ?? 0,
            storedBytes: row?.integer(at: 2) ?? 0, lastEvidenceID: row?.integer(at: 3) ?? since)
    }

    func close(run sequence: Int64, _ sum: Sum) throws {
        try db.execute(
            sql: "INSERT INTO trueup_run_evidence VALUES (?, ?, ?, ?, ?)",
            arguments: [
                sequence, sum.statements, sum.receivedBytes, sum.storedBytes, sum.lastEvidenceID,
            ])
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
