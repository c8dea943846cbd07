import GRDB
package import Subscriptions

extension SQLiteStore {
    /// Loads what the company's own endpoint received into the inbox: all of a file or nothing.
    ///
    /// A notification that was received at an unknown time counts as received now: an absent time
    /// would say that it was not.
    ///
    /// - Parameters:
    ///   - app: Whose notifications they are; `nil` when the file does not say.
    ///   - dryRun: Only counts what would change; needs no right to write.
    ///   - produce: Hands over the notifications; if it throws, nothing is loaded.
    /// - Returns: How many were new, completed a recovered one, or were known.
    /// - Throws: `StoreError`, or what `produce` throws.
    package func loadNotifications(
        of app: AppIdentity?, dryRun: Bool = false,
        _ produce: (_ add: (ReceivedNotification) throws -> LineOutcome) throws -> Void
    ) throws -> LoadCounts {
        let doing = "loading notifications into the inbox"
        do {
            let loading = try connectToLoad(dryRun: dryRun, doing)
            defer { try? loading.close() }
            let lines = try stageNotifications(on: loading, produce)
            guard !dryRun else {
                return try loading.read { db in try compareNotifications(lines: lines, db) }
            }
            return try blockingWrite(doing, on: loading) { db in
                try mergeNotifications(of: app, lines: lines, db)
            }
        } catch let error as DatabaseError {
            throw StoreError(error, doing: doing)
        }
    }

    private func stageNotifications(
        on loading: DatabaseQueue,
        _ produce: (_ add: (ReceivedNotification) throws -> LineOutcome) throws -> Void
    ) throws -> Int {
        try loading.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    CREATE TABLE temp.trueup_staged (
                        notification_uuid TEXT PRIMARY KEY, received_at INTEGER) WITHOUT ROWID
                    """)
            let statement = try db.cachedStatement(
                sql: "INSERT OR IGNORE INTO temp.trueup_staged VALUES (?, ?)")
            var lines = 0
            try db.inTransaction(.deferred) {
                try produce { line in
                    try statement.execute(
                        arguments: [line.notificationUUID, line.receivedAt?.unixMilliseconds])
                    guard db.changesCount > 0 else { return .duplicateKey }
                    lines += 1
                    return .accepted
                }
                return .commit
            }
            return lines
        }
    }

    private func mergeNotifications(
        of app: AppIdentity?, lines: Int, _ db: Database
    ) throws -> LoadCounts {
        let now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
        var counts = LoadCounts()
        try db.execute(
            sql: """
                UPDATE main.trueup_notifications AS t
                SET received_at = ifnull(s.received_at, \(now))
                FROM temp.trueup_staged AS s
                WHERE \(Self.learnsTime)
                """)
        counts.updated = db.changesCount
        try db.execute(
            sql: """
                INSERT INTO main.trueup_notifications (
                    notification_uuid, bundle_id, environment, received_at)
                SELECT notification_uuid, ?, ?, ifnull(received_at, \(now))
                FROM temp.trueup_staged AS s WHERE \(Self.isNew)
                """,
            arguments: [app?.bundleID, app?.environment.rawValue])
        counts.inserted = db.changesCount
        counts.unchanged = lines - counts.updated - counts.inserted
        return counts
    }

    /// What a merge would count.
    private func compareNotifications(lines: Int, _ db: Database) throws -> LoadCounts {
        var counts = LoadCounts()
        counts.updated =
            try Int.fetchOne(
                db,
                sql: """
                    SELECT count(*) FROM temp.trueup_staged AS s
                    CROSS JOIN main.trueup_notifications AS t WHERE \(Self.learnsTime)
                    """) ?? 0
        counts.inserted =
            try Int.fetchOne(
                db, sql: "SELECT count(*) FROM temp.trueup_staged AS s WHERE \(Self.isNew)") ?? 0
        counts.unchanged = lines - counts.updated - counts.inserted
        return counts
    }

    /// A stored notification of which the line knows when it was received.
    private static let learnsTime = """
        t.notification_uuid = s.notification_uuid AND (t.received_at IS NULL
            OR (s.received_at IS NOT NULL AND s.received_at <> t.received_at))
        """

    private static let isNew = """
        NOT EXISTS (SELECT 1 FROM main.trueup_notifications AS t
            WHERE t.notification_uuid = s.notification_uuid)
        """
}
