import GRDB
package import Subscriptions

extension SQLiteStore {
    /// Deletes bookkeeping that is older than a moment, in small transactions: inbox notifications,
    /// told events, and what reports of earlier runs listed.
    ///
    /// What is still owed or stays open is kept, and so is all that `verify` and `undo` rest on.
    ///
    /// - Returns: how many notifications, events and runs were cleared.
    package func expireBookkeeping(
        before limit: Timestamp, at now: Timestamp
    ) async throws(StoreError) -> Int {
        let doing = "clearing bookkeeping past its retention"
        var cleared = 0
        while true {
            let old = try await read(doing) { db in
                try Retention(db: db, limit: limit).oldNotifications(now: now)
            }
            guard !old.isEmpty else { break }
            try await write(doing) { db in
                let delete = try db.cachedStatement(
                    sql: "DELETE FROM trueup_notifications WHERE notification_uuid = ?")
                for uuid in old { try delete.execute(arguments: [uuid]) }
            }
            cleared += old.count
        }
        while true {
            let old = try await read(doing) { db in
                try Retention(db: db, limit: limit).oldToldEvents()
            }
            guard !old.isEmpty else { break }
            try await write(doing) { db in
                let delete = try db.cachedStatement(
                    sql: "DELETE FROM trueup_outbox WHERE ledger_entry = ?")
                for entry in old { try delete.execute(arguments: [entry]) }
            }
            cleared += old.count
        }
        while let run = try await read(
            doing,
            { db in
                try Retention(db: db, limit: limit).oldRun()
            })
        {
            while try await write(
                doing,
                { db in
                    try Retention(db: db, limit: limit).deleteLists(ofRun: run, now: now)
                })
            {}
            cleared += 1
        }
        return cleared
    }
}

extension BookkeepingCount {
    /// Rows and age of each kind that retention clears.
    static func all(_ db: Database) throws -> [BookkeepingCount] {
        func startOfRun(of table: String) -> String {
            """
            SELECT started FROM trueup_runs WHERE run_seq = (SELECT min(run_seq) FROM \(table))
            """
        }
        let kinds = [
            (
                "pass rows", "SELECT count(*) FROM trueup_pass_rows",
                """
                SELECT began FROM trueup_passes WHERE pass_id = (
                    SELECT min(pass_id) FROM trueup_pass_rows)
                """
            ),
            (
                "run findings", "SELECT count(*) FROM trueup_run_findings",
                startOfRun(of: "trueup_run_findings")
            ),
            (
                "undecided", "SELECT count(*) FROM trueup_run_undecided",
                startOfRun(of: "trueup_run_undecided")
            ),
            (
                "notifications", "SELECT count(*) FROM trueup_notifications",
                "SELECT min(coalesce(signed_date, received_at)) FROM trueup_notifications"
            ),
            (
                "told events", "SELECT count(told_at) FROM trueup_outbox",
                "SELECT min(told_at) FROM trueup_outbox"
            ),
        ]
        return try kinds.map { name, count, oldest in
            BookkeepingCount(
                kind: name, rows: try Int.fetchOne(db, sql: count) ?? 0,
                oldest: try Int64.fetchOne(db, sql: oldest).map(Timestamp.init(unixMilliseconds:)))
        }
    }
}
