import GRDB
import Subscriptions

/// Writes one notification of Apple's history: into the inbox, and into the pass's audit.
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
        try db.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO trueup_pass_deliveries
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(
            arguments: [
                run.passID, app.bundleID, app.environment.rawValue,
                notification.originalTransactionID, notification.signedDate.unixMilliseconds,
                notification.notificationUUID, notification.notificationType,
                notification.subtype, SendAttemptText.encode(notification.sendAttempts),
                notification.receivedAt?.unixMilliseconds, notification.isReported,
            ])
    }

    /// A notification that an earlier night found missed or lost stays so when it is read again.
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
        try db.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO trueup_pass_notifications
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(
            arguments: [
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
        try db.cachedStatement(
            sql: """
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
                """
        ).execute(
            arguments: [
                notification.notificationUUID, app.bundleID, app.environment.rawValue,
                notification.notificationType, notification.subtype,
                notification.signedDate.unixMilliseconds, notification.originalTransactionID,
                attempts.rendered, verdict, notification.evidence.digest.hexadecimal,
                now.unixMilliseconds,
            ])
    }
}
