import Reconciliation
import Subscriptions

/// A finding, and what Apple's history says about its subscription, for the search for causes.
enum Told {
    static let readFrom = Sample.now(days: -10)

    static func search(
        from start: Timestamp? = readFrom, inboxIsKept: Bool = false
    ) -> CauseSearch {
        CauseSearch(
            history: start.map { NotificationWindow(start: $0, end: Sample.now(minutes: -15)) },
            inboxIsKept: inboxIsKept, now: Sample.now)
    }

    /// A row that rests on a statement of two days ago, and a difference in one column.
    static func finding(
        _ kind: FindingKind, _ field: SubscriptionField = .status, ours: FieldValue,
        apple: FieldValue, changed: Timestamp? = nil, _ change: (inout Finding) -> Void = { _ in }
    ) -> Finding {
        var row = Sample.row()
        row.signedDate = Sample.now(days: -2)
        var finding = Finding(kind: kind, severity: .high, row: row)
        finding.field = field.rawValue
        finding.localValue = ours
        finding.appleValue = apple
        finding.appleAsOf = Sample.now
        finding.changedAt = changed
        finding.cause = "what the rule says"
        change(&finding)
        return finding
    }

    /// Our row is active, Apple's has expired a day ago.
    static let expired = finding(
        .accessUnpaid, ours: .integer(1), apple: .integer(2), changed: Sample.now(days: -1))

    /// A notification signed at a time, whose attempts were made so many minutes after it.
    static func notification(
        _ type: String, _ subtype: String? = nil, at signed: Timestamp = Sample.now(days: -1),
        _ attempts: (minutes: Int64, result: String)..., uuid: String = "uuid",
        received: Bool = false
    ) -> TracedNotification {
        TracedNotification(
            notificationUUID: uuid, notificationType: type, subtype: subtype, signedDate: signed,
            originalTransactionID: Sample.id,
            sendAttempts: attempts.map {
                SendAttempt(
                    attemptDate: signed.adding(milliseconds: $0.minutes * 60_000),
                    result: $0.result)
            }, receivedAt: received ? signed : nil)
    }
}
