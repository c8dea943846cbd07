import GRDB
package import Subscriptions

/// The inbox of notifications, and how far Apple's history of them was read.
extension SQLiteStore {
    /// How far an app's notification history has been read; `nil` before the first time.
    package func watermark(of app: AppIdentity) async throws(StoreError) -> Timestamp? {
        try await read("reading a watermark") { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT read_through FROM trueup_watermarks
                    WHERE bundle_id = ? AND environment = ?
                    """,
                arguments: [app.bundleID, app.environment.rawValue]
            ).map(Timestamp.init(unixMilliseconds:))
        }
    }

    /// What is known of these notifications.
    package func inbox(
        of app: AppIdentity, notificationUUIDs: [String]
    ) async throws(StoreError) -> [String: InboxRecord] {
        try await read("reading the inbox") { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT received_at, recovered_at FROM trueup_notifications
                    WHERE notification_uuid = ? AND ifnull(bundle_id, ?) = ?
                        AND ifnull(environment, ?) = ?
                    """)
            let (bundle, environment) = (app.bundleID, app.environment.rawValue)
            var known: [String: InboxRecord] = [:]
            for uuid in Set(notificationUUIDs) {
                let row = try Row.fetchOne(
                    statement, arguments: [uuid, bundle, bundle, environment, environment])
                known[uuid] = row.map {
                    InboxRecord(receivedAt: $0.time(at: 0), recoveredAt: $0.time(at: 1))
                }
            }
            return known
        }
    }

    /// Stores one page of notifications in one transaction: their findings, the rows that they
    /// settle, what must be asked because of them, how they were sent and, when `intoInbox`, the
    /// notifications themselves.
    ///
    /// Of two statements about one subscription the one signed later counts, in whatever order they
    /// come. What must be asked stays on the agenda until it is done; a check and a narrowed run
    /// keep it for their own pass.
    ///
    /// How a notification was sent is stored once in a pass: later accounts of it are ignored.
    package func record(
        _ page: RecordedPage, of app: AppIdentity, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try await write("storing a page of notifications") { db in
            let reference = try RunReference(run, in: pass, db)
            let recorder = NotificationRecorder(
                db: db, run: reference, app: app, now: run.started, intoInbox: page.intoInbox)
            for notification in page.traced { try recorder.trace(notification) }
            var events = EventCounts(db: db, run: reference, app: app)
            for notification in page.fresh {
                if page.intoInbox { try events.add(notification) }
                let own = page.findings.filter { $0.field == notification.notificationUUID }
                try recorder.record(notification, findings: own)
                guard let stated = notification.stated else { continue }
                let key = SubscriptionKey(
                    app: app, originalTransactionID: stated.originalTransactionID)
                try NewestStatements(db: db).note(
                    stated.signedDate, about: key, now: run.started)
            }
            try events.store()
            let lines = AgendaLines(db: db, passID: pass.passID)
            for question in page.owed {
                try lines.owe(question, isDurable: run.worksOffAgenda, since: run.started)
            }
            let settled = try page.settled.filter { outcome in
                try outcome.check?.signedDate.map { signed in
                    try !lines.owesMore(about: outcome.key, than: signed)
                } ?? false
            }
            try PassStaging(db: db, run: reference, now: run.started).stage(
                StagedBatch(outcomes: settled))
            let staging = FindingStaging(db: db, run: reference)
            for finding in page.findings {
                try staging.store(finding, outcome: nil, corrections: [])
            }
        }
    }

    /// Marks a part of an app's notification history as read to its end in this pass and, unless
    /// `nil`, moves the app's watermark.
    package func finishRecovery(
        of app: AppIdentity, read window: NotificationWindow, watermark: Timestamp?,
        in pass: OpenPass
    ) async throws(StoreError) {
        try await write("marking the notification history as read") { db in
            let identity: StatementArguments = [app.bundleID, app.environment.rawValue]
            try db.execute(
                sql: "INSERT OR REPLACE INTO trueup_pass_history VALUES (?, ?, ?, ?, ?)",
                arguments: [pass.passID] + identity + [
                    window.start.unixMilliseconds, window.end.unixMilliseconds,
                ])
            try db.execute(
                sql: "INSERT OR IGNORE INTO trueup_pass_recovered VALUES (?, ?, ?)",
                arguments: [pass.passID] + identity)
            guard let watermark else { return }
            try EventCounts.note(read: window, through: watermark, of: app, in: pass, db)
            try db.execute(
                sql: "INSERT OR REPLACE INTO trueup_watermarks VALUES (?, ?, ?)",
                arguments: identity + [watermark.unixMilliseconds])
        }
    }
}
