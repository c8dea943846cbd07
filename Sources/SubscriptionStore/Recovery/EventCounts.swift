import GRDB
import Subscriptions

/// Counts what notifications say to the business, each once: when it is first taken into the inbox.
struct EventCounts {
    let db: Database
    let run: RunReference
    let app: AppIdentity
    private var added: [BusinessEvent: [Int64: Int]] = [:]

    init(db: Database, run: RunReference, app: AppIdentity) {
        self.db = db
        self.run = run
        self.app = app
    }

    /// Counts a notification, before the inbox is told of it.
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
    /// What an earlier run has read is behind the old watermark and was counted by that run, or by a
    /// version that did not count.
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
    /// What was counted up to a run, for the days that its report needs.
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
