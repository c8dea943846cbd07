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

    /// The records of these notifications.
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
    /// settle, what they say of one-time purchases, what must be asked because of them, how they were sent and, when `intoInbox`, the
    /// notifications themselves.
    ///
    /// Of two statements about one subscription the one signed later counts, in whatever order they
    /// come. What must be asked stays on the queue until it is done; a check and a partial run keep
    /// it for their own pass.
    ///
    /// How a notification was sent is stored once in a checkpoint: later accounts of it are
    /// ignored.
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
            let lines = QuestionQueue(db: db, passID: pass.passID)
            for question in page.pending {
                try lines.enqueue(question, isDurable: run.worksOffQueue, since: run.started)
            }
            let settled = try page.settled.filter { outcome in
                try outcome.check?.signedDate.map { signed in
                    try !lines.awaitsLaterStatement(about: outcome.key, than: signed)
                } ?? false
            }
            try PassStaging(db: db, run: reference, now: run.started).stage(
                StagedBatch(outcomes: settled + page.purchases))
            let staging = OutcomeStaging(db: db, run: reference)
            for finding in page.findings {
                try staging.store(finding, outcome: nil, corrections: [])
            }
        }
    }

    /// Marks a part of an app's notification history as read to its end in this checkpoint and,
    /// unless `nil`, moves the app's watermark.
    ///
    /// Once the watermark has moved, nothing else tells what is lost: should the run be killed, the
    /// next one reports the `shortfall`.
    package func finishRecovery(
        of app: AppIdentity, read window: NotificationWindow, watermark: Timestamp?,
        shortfall: String? = nil, in pass: OpenPass
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
            if let shortfall {
                // The end of the run writes its messages in the place of these.
                try db.execute(
                    sql: """
                        UPDATE trueup_runs
                        SET messages = ifnull(nullif(messages, '') || char(10), '') || ?
                        WHERE run_seq = (
                            SELECT max(run_seq) FROM trueup_runs WHERE pass_id = ?)
                            AND ended IS NULL
                        """, arguments: [TextList.encode([shortfall]), pass.passID])
            }
            guard let watermark else { return }
            try EventCounts.note(read: window, through: watermark, of: app, in: pass, db)
            try db.execute(
                sql: "INSERT OR REPLACE INTO trueup_watermarks VALUES (?, ?, ?)",
                arguments: identity + [watermark.unixMilliseconds])
        }
    }
}

/// Writes one notification of Apple's history: into the inbox, and into the checkpoint's audit.
struct NotificationRecorder {
    let db: Database
    let run: RunReference
    let app: AppIdentity
    let now: Timestamp
    let intoInbox: Bool

    func record(_ notification: RecordedNotification, findings: [Finding]) throws {
        if intoInbox || !findings.isEmpty {
            try EvidenceVault(db: db).store(
                notification.evidence,
                of: (bundleID: app.bundleID, environment: app.environment.rawValue))
        }
        let verdict = try verdict(on: notification, findings: findings)
        try audit(notification, verdict: verdict)
        if intoInbox { try keep(notification, verdict: verdict) }
    }

    /// Keeps how sending it went, for the search for causes.
    func trace(_ notification: TracedNotification) throws {
        try db.executeCached(
            """
            INSERT OR IGNORE INTO trueup_pass_deliveries
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                run.passID, app.bundleID, app.environment.rawValue,
                notification.originalTransactionID, notification.signedDate.unixMilliseconds,
                notification.notificationUUID, notification.notificationType,
                notification.subtype, TextList.encode(notification.sendAttempts),
                notification.receivedAt?.unixMilliseconds, notification.isReported,
            ])
    }

    /// A notification that an earlier run found missed or lost stays so when it is read again.
    private func verdict(
        on notification: RecordedNotification, findings: [Finding]
    ) throws -> String {
        if findings.contains(where: { $0.kind == .notificationMissed }) { return "missed" }
        if findings.contains(where: { $0.kind == .notificationLost }) { return "lost" }
        let statement = try db.cachedStatement(
            sql: """
                SELECT received_at, verdict FROM trueup_notifications WHERE notification_uuid = ?
                """)
        let known = try Row.fetchOne(statement, arguments: [notification.notificationUUID])
        if known?.time(at: 0) != nil { return "received" }
        if let earlier = known?.text(at: 1), ["missed", "lost"].contains(earlier) {
            return earlier
        }
        return notification.sendAttempts.contains(where: \.isSuccess) ? "delivered" : "retrying"
    }

    private func audit(_ notification: RecordedNotification, verdict: String) throws {
        let attempts = notification.sendAttempts
        let last = attempts.max { $0.attemptDate < $1.attemptDate }
        try db.executeCached(
            """
            INSERT OR IGNORE INTO trueup_pass_notifications
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                run.passID, app.bundleID, app.environment.rawValue, notification.notificationUUID,
                notification.notificationType, notification.subtype,
                notification.signedDate.unixMilliseconds, notification.originalTransactionID,
                attempts.count, last?.result, verdict, notification.evidence.digest.hexadecimal,
                run.sequence,
            ])
    }

    private func keep(_ notification: RecordedNotification, verdict: String) throws {
        let attempts = CanonicalJSON.array(
            notification.sendAttempts.map { attempt in
                .object([
                    "attempt_date": .time(attempt.attemptDate), "result": .string(attempt.result),
                ])
            })
        try db.executeCached(
            """
            INSERT INTO trueup_notifications (
                notification_uuid, bundle_id, environment, notification_type, subtype,
                signed_date, original_transaction_id, attempts, verdict, evidence, recovered_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET
                bundle_id = excluded.bundle_id, environment = excluded.environment,
                notification_type = excluded.notification_type, subtype = excluded.subtype,
                signed_date = excluded.signed_date,
                original_transaction_id = excluded.original_transaction_id,
                attempts = excluded.attempts, verdict = excluded.verdict,
                evidence = ifnull(evidence, excluded.evidence),
                recovered_at = ifnull(recovered_at, excluded.recovered_at)
            """,
            [
                notification.notificationUUID, app.bundleID, app.environment.rawValue,
                notification.notificationType, notification.subtype,
                notification.signedDate.unixMilliseconds, notification.originalTransactionID,
                attempts.rendered, verdict, notification.evidence.digest.hexadecimal,
                now.unixMilliseconds,
            ])
    }
}

/// Counts what notifications say to the business, each once: when it is first taken into the inbox.
struct EventCounts {
    let db: Database
    let run: RunReference
    let app: AppIdentity
    var added: [BusinessEvent: [Int64: Int]] = [:]

    /// Counts a notification, before the inbox has it.
    mutating func add(_ notification: RecordedNotification) throws {
        guard let event = notification.event else { return }
        let statement = try db.cachedStatement(
            sql: "SELECT recovered_at FROM trueup_notifications WHERE notification_uuid = ?")
        let known = try Row.fetchOne(statement, arguments: [notification.notificationUUID])
        guard known?.time(at: 0) == nil else { return }
        added[event, default: [:]][notification.signedDate.dayNumber, default: 0] += 1
    }

    /// Adds what was counted to what this run has counted before.
    func store() throws {
        guard !added.isEmpty else { return }
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO trueup_event_counts VALUES (?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET events = events + excluded.events
                """)
        for (event, days) in added {
            for (day, events) in days {
                try statement.execute(
                    arguments: [
                        app.bundleID, app.environment.rawValue, day, event.productID,
                        event.kind.rawValue, run.sequence, events,
                    ])
            }
        }
    }

    /// Notes that the history up to a moment is read and counted, before the watermark moves.
    ///
    /// What an earlier run has read is behind the old watermark and was counted by that run, or by
    /// a version that did not count.
    static func note(
        read window: NotificationWindow, through watermark: Timestamp, of app: AppIdentity,
        in pass: OpenPass, _ db: Database
    ) throws {
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO trueup_event_reads
                SELECT ?1, ?2, ifnull(max(r.run_seq), 0),
                    max(?3, ifnull((SELECT w.read_through FROM trueup_watermarks AS w
                        WHERE w.bundle_id = ?1 AND w.environment = ?2), ?3)), ?4
                FROM trueup_runs AS r WHERE r.pass_id = ?5
                """,
            arguments: [
                app.bundleID, app.environment.rawValue, window.start.unixMilliseconds,
                watermark.unixMilliseconds, pass.passID,
            ])
    }
}

extension BusinessRecord {
    /// Reads the counts up to a run, for the days that its report needs.
    init(upTo sequence: Int64, of apps: [AppIdentity], on day: Int64, _ db: Database) throws {
        self.init()
        let first = day - BusinessRecord.knownDays + 1
        for app in Set(apps).sorted() {
            let identity: StatementArguments = [app.bundleID, app.environment.rawValue]
            counts += try Row.fetchAll(
                db,
                sql: """
                    SELECT day, product_id, event, sum(events) FROM trueup_event_counts
                    WHERE bundle_id = ? AND environment = ? AND day BETWEEN ? AND ?
                        AND run_seq <= ?
                    GROUP BY day, product_id, event ORDER BY day, product_id, event
                    """,
                arguments: identity + [first, day, sequence]
            ).compactMap { EventCount(app, $0) }
            reads += try Row.fetchAll(
                db,
                sql: """
                    SELECT read_from, read_through FROM trueup_event_reads
                    WHERE bundle_id = ? AND environment = ? AND run_seq <= ?
                        AND read_through >= ? AND read_from <= read_through
                    ORDER BY read_from, read_through
                    """,
                arguments: identity + [
                    sequence,
                    first.multipliedReportingOverflow(by: Milliseconds.perDay).partialValue,
                ]
            ).compactMap { row in
                guard let from = row.time(at: 0), let through = row.time(at: 1) else { return nil }
                return EventRead(app: app, from: from, through: through)
            }
        }
    }
}

extension EventCount {
    /// `nil` for a kind that a later version counted.
    fileprivate init?(_ app: AppIdentity, _ row: Row) {
        guard let day = row.integer(at: 0),
            let kind = BusinessEventKind(rawValue: row.requiredText(at: 2)),
            let events = row.number(at: 3)
        else { return nil }
        self.init(
            app: app, day: day, productID: row.requiredText(at: 1), kind: kind, events: events)
    }
}
