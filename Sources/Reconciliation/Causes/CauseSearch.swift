package import Subscriptions

/// Why a finding came about, as far as it can be told.
package struct FindingCause: Hashable, Sendable {
    /// A short, constant text; findings are grouped by it.
    package var text: String
    /// `nil` for causes that no notification could have prevented.
    package var delivery: Delivery?
    package var result: String?
    /// The notification that should have brought the change.
    package var notification: TracedNotification?
    /// When the attempt was made that the cause speaks of.
    package var attempt: Timestamp?
    package var isStillRetried = false

    package init(text: String, delivery: Delivery? = nil) {
        self.text = text
        self.delivery = delivery
    }
}

/// Finds the cause of one finding in Apple's record of its notifications.
///
/// In this order:
/// 1. a finding about a notification has that notification's delivery for its cause;
/// 2. one that was refused says why;
/// 3. a value that shows a pattern of its own (time zone, unit) needs no notification;
/// 4. the newest fitting notification after what our row rests on, and what became of it;
/// 5. without one: the change is older than what our row rests on, so we changed the row;
/// 6. or Apple's history covers the time of the change, and Apple never sent one;
/// 7. else it is unknown, and the text says why. A finding without a cause of its own gets none.
package struct CauseSearch: Hashable, Sendable {
    /// The part of Apple's history that was read to its end; `nil` when none was.
    package var history: NotificationWindow?
    /// Whether the company tells us what its endpoint received.
    package var inboxIsKept: Bool
    package var now: Timestamp

    /// The payloads inside a notification are signed moments before the notification itself.
    static let sameStatementMilliseconds: Int64 = 5000
    /// Apple charges up to a day before the period that it pays for begins.
    static let earlyChargeMilliseconds: Int64 = 25 * 3_600_000
    /// How long after a change its notification may yet be signed.
    static let signingMilliseconds: Int64 = 3_600_000

    package init(history: NotificationWindow?, inboxIsKept: Bool, now: Timestamp) {
        self.history = history
        self.inboxIsKept = inboxIsKept
        self.now = now
    }

    package func cause(
        of finding: Finding, among notifications: [TracedNotification]
    ) -> FindingCause? {
        if finding.kind == .notificationMissed || finding.kind == .notificationLost {
            let own = notifications.first { $0.notificationUUID == finding.field }
            return own.map { delivered($0, finding, notifications) } ?? ownCause(finding)
        }
        // Why it was not written is what its reader must know.
        if finding.action == .refused { return ownCause(finding) }
        if let pattern = ValuePattern(of: finding) { return FindingCause(text: pattern.cause) }
        let expected = ExpectedNotification(of: finding)
        guard !expected.isNone else { return ownCause(finding) }
        let fitting = notifications.filter(expected.fits).filter { notification in
            finding.appleAsOf.map { notification.signedDate <= $0 } ?? true
        }
        if let match = match(fitting, finding) { return delivered(match, finding, notifications) }
        return unsent(finding, wasTold: wasTold(finding, expected, notifications))
    }

    private func ownCause(_ finding: Finding) -> FindingCause? {
        finding.cause.map { FindingCause(text: $0) }
    }

    /// The newest that our row cannot have known.
    private func match(
        _ fitting: [TracedNotification], _ finding: Finding
    ) -> TracedNotification? {
        fitting.filter { notification in
            if let known = finding.localAsOf, finding.kind != .transactionMissing,
                notification.signedDate
                    <= known.adding(milliseconds: Self.sameStatementMilliseconds)
            {
                return false
            }
            guard let changed = finding.changedAt else { return true }
            let distance = notification.signedDate.milliseconds(since: changed)
            // A period of the past has later ones after it, which are not its own.
            if finding.kind == .transactionMissing {
                return distance.magnitude <= Self.earlyChargeMilliseconds
            }
            return distance >= -Self.earlyChargeMilliseconds
        }.max { left, right in
            (left.signedDate, left.notificationUUID) < (right.signedDate, right.notificationUUID)
        }
    }

    private func delivered(
        _ notification: TracedNotification, _ finding: Finding, _ others: [TracedNotification]
    ) -> FindingCause {
        let reading = DeliveryReading(
            of: notification, among: others, localAsOf: finding.localAsOf,
            inboxIsKept: inboxIsKept, environment: finding.environment, now: now)
        var cause = FindingCause(text: reading.cause, delivery: reading.delivery)
        cause.result = reading.result
        cause.notification = notification
        cause.attempt = reading.attempt
        cause.isStillRetried = reading.isStillRetried
        return cause
    }

    /// Whether the statement that our row rests on is newer than the change: then the row knew.
    private func wasTold(
        _ finding: Finding, _ expected: ExpectedNotification, _ notifications: [TracedNotification]
    ) -> Bool {
        guard let known = finding.localAsOf, finding.kind != .transactionMissing else {
            return false
        }
        if let changed = finding.changedAt, changed <= known { return true }
        // The newest one of the matter decides: a change may have been taken back and made again.
        let end = known.adding(milliseconds: Self.sameStatementMilliseconds)
        let newest = notifications.filter { $0.signedDate <= end && expected.concerns($0) }
            .max { $0.signedDate < $1.signedDate }
        guard let newest, expected.fits(newest) else { return false }
        return finding.changedAt.map {
            newest.signedDate.milliseconds(since: $0) >= -Self.earlyChargeMilliseconds
        } ?? true
    }

    private func unsent(_ finding: Finding, wasTold: Bool) -> FindingCause? {
        guard !wasTold else {
            return FindingCause(text: Self.text(.changedByUs), delivery: .changedByUs)
        }
        let changed = finding.changedAt
        guard let history else {
            // The job does not read it: what the rule says is all that is known.
            return finding.cause.map { FindingCause(text: $0, delivery: .unknown) }
        }
        let earliest = changed?.adding(milliseconds: -Self.earlyChargeMilliseconds)
        guard let from = earliest ?? finding.localAsOf else {
            return unknown(finding, "the row does not say which statement it rests on")
        }
        guard history.start <= from else {
            return unknown(finding, "the notification history was not read that far back")
        }
        guard let changed else {
            return unknown(
                finding, "no notification since the row's statement; never sent, or changed by us")
        }
        guard changed.adding(milliseconds: Self.signingMilliseconds) <= history.end else {
            return unknown(finding, "too recent for the notification history")
        }
        return FindingCause(text: Self.text(.neverSent), delivery: .neverSent)
    }

    private static func text(_ delivery: Delivery) -> String {
        DeliveryReading(delivery: delivery, result: nil, attempt: nil).cause
    }

    private func unknown(_ finding: Finding, _ why: String) -> FindingCause? {
        finding.cause.map { _ in FindingCause(text: "unknown: \(why)", delivery: .unknown) }
    }
}
