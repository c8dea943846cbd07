import GRDB
import Subscriptions

/// Throwing away what ended passes no longer need, a little at a time.
///
/// Bookkeeping must not grow with every night: of a pass that is over, only what its runs' reports
/// show is kept.
extension SQLiteStore {
    func purgeEndedPasses() async throws(StoreError) {
        let doing = "clearing the bookkeeping of ended passes"
        while try await write(doing, { db in try PassPurge(db: db).step() }) {}
    }
}

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
        for (table, key) in Self.working {
            guard try delete(from: table, key: key, passID: passID) == 0 else { return true }
        }
        if ended.integer(at: 1) == 0 {
            for (table, key) in Self.reported {
                guard try delete(from: table, key: key, passID: passID) == 0 else { return true }
            }
        }
        try db.execute(
            sql: "UPDATE trueup_passes SET state = 'purged' WHERE pass_id = ?", arguments: [passID])
        return true
    }

    private static let subscriptionKey =
        "pass_id, bundle_id, environment, original_transaction_id"

    private static let working = [
        ("trueup_pass_rows", subscriptionKey), ("trueup_touched", subscriptionKey),
        ("trueup_pass_revisions", subscriptionKey),
        ("trueup_pass_recovered", "pass_id, bundle_id, environment"),
    ]

    private static let reported = [
        ("trueup_pass_findings", "finding_seq"), ("trueup_pass_corrections", "correction_id"),
        ("trueup_pass_notifications", "pass_id, bundle_id, environment, notification_uuid"),
    ]

    private func delete(from table: String, key: String, passID: Int64) throws -> Int {
        try db.cachedStatement(
            sql: """
                DELETE FROM \(table) WHERE (\(key)) IN (
                    SELECT \(key) FROM \(table) WHERE pass_id = ? LIMIT ?)
                """
        ).execute(arguments: [passID, StoreLimits.rowsPerChunk])
        return db.changesCount
    }
}
