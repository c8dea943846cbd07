import GRDB
import Subscriptions

/// One small step of throwing away what ended passes no longer need.
struct PassPurge {
    let db: Database

    /// Deletes up to a chunk of rows; whether there may be more.
    func step() throws -> Bool {
        guard
            let ended = try Row.fetchOne(
                db,
                sql: """
                    SELECT pass_id, EXISTS (SELECT 1 FROM trueup_runs AS r
                        WHERE r.pass_id = p.pass_id AND r.ended IS NOT NULL)
                    FROM trueup_passes AS p WHERE state IN ('closed', 'dropped') LIMIT 1
                    """),
            let passID = ended.integer(at: 0)
        else { return false }
        for table in Self.working {
            guard try deleteFirst(of: table, passID: passID) else { return true }
        }
        // Their key goes on: of one subscription there may be more than a chunk.
        let deliveries = "trueup_pass_deliveries"
        let rest = ["signed_date", "notification_uuid"]
        guard try deleteFirst(of: deliveries, then: rest, passID: passID) else { return true }
        guard try deleteQuestions(of: passID) else { return true }
        for table in ["trueup_pass_recovered", "trueup_pass_history"] {
            try db.execute(sql: "DELETE FROM \(table) WHERE pass_id = ?", arguments: [passID])
        }
        if ended.integer(at: 1) == 0 {
            for (table, key) in Self.reported {
                guard try deleteSome(of: table, key: key, passID: passID) else { return true }
            }
            try db.execute(
                sql: "DELETE FROM trueup_pass_notifications WHERE pass_id = ?",
                arguments: [passID])
        }
        try db.execute(
            sql: "UPDATE trueup_passes SET state = 'purged' WHERE pass_id = ?", arguments: [passID])
        return true
    }

    /// One row of these for each subscription.
    private static let working = [
        "trueup_pass_rows", "trueup_pass_revisions", "trueup_canaries",
        "trueup_pass_continuations",
    ]

    private static let reported = [
        ("trueup_pass_findings", "finding_seq"), ("trueup_pass_corrections", "correction_id"),
    ]

    /// Deletes the first rows by key, which SQLite finds without reading the others; whether the
    /// pass has none left.
    private func deleteFirst(
        of table: String, then rest: [String] = [], passID: Int64
    ) throws -> Bool {
        let more = rest.map { ", " + $0 }.joined()
        let bound = try Row.fetchOne(
            db,
            sql: """
                SELECT original_transaction_id, environment, bundle_id\(more) FROM \(table)
                WHERE pass_id = ?
                ORDER BY bundle_id, environment, original_transaction_id\(more) LIMIT 1 OFFSET ?
                """,
            arguments: [passID, StoreLimits.rowsPerChunk])
        guard let bound else {
            try db.execute(sql: "DELETE FROM \(table) WHERE pass_id = ?", arguments: [passID])
            return true
        }
        let end = try StoredKey(bound)
        let marks = end.marks.dropLast() + rest.map { _ in ", ?" }.joined() + ")"
        let values = Array(bound.databaseValues).suffix(rest.count)
        try db.execute(
            sql: """
                DELETE FROM \(table) WHERE pass_id = ?
                    AND (bundle_id, environment, original_transaction_id\(more)) < \(marks)
                """,
            arguments: [passID] + end.arguments + StatementArguments(values))
        return false
    }

    private func deleteQuestions(of passID: Int64) throws -> Bool {
        try db.execute(
            sql: """
                DELETE FROM trueup_pass_questions
                WHERE (pass_id, turn, bundle_id, environment, original_transaction_id) IN (
                    SELECT pass_id, turn, bundle_id, environment, original_transaction_id
                    FROM trueup_pass_questions WHERE pass_id = ? LIMIT ?)
                """, arguments: [passID, StoreLimits.rowsPerChunk])
        return db.changesCount < StoreLimits.rowsPerChunk
    }

    private func deleteSome(of table: String, key: String, passID: Int64) throws -> Bool {
        try db.execute(
            sql: """
                DELETE FROM \(table) WHERE \(key) IN (
                    SELECT \(key) FROM \(table) WHERE pass_id = ? LIMIT ?)
                """,
            arguments: [passID, StoreLimits.rowsPerChunk])
        return db.changesCount < StoreLimits.rowsPerChunk
    }
}

/// Throwing away what ended passes no longer need, a little at a time.
///
/// Bookkeeping must not grow with every night: of a pass that is over, only what its runs' reports
/// show is kept.
extension SQLiteStore {
    ///
    /// - Parameter note: Takes how many rows a step deleted at most.
    /// - Throws: An error of the database.
    func purgeEndedPasses(noting note: (Int) -> Void = { _ in }) async throws(StoreError) {
        let doing = "clearing the bookkeeping of ended passes"
        while try await write(doing, { db in try PassPurge(db: db).step() }) {
            note(StoreLimits.rowsPerChunk)
        }
    }
}
