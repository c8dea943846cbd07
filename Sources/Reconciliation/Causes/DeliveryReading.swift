import Subscriptions

/// The cause that follows from Apple's record of delivering one notification.
struct DeliveryReading: Hashable {
    var delivery: Delivery
    /// `sendAttemptResult` of the attempt that the cause is about.
    var result: String?
    /// When that attempt was made.
    var attempt: Timestamp?
    var isStillRetried = false

    /// A delivery later than this after signing is late, even without a failed attempt.
    static let lateMilliseconds = 15 * Milliseconds.perMinute
    private static let hour = Milliseconds.perHour
    /// The delays of Apple's retries, each after the attempt before.
    ///
    /// Source: Responding to App Store Server Notifications.
    private static let retryDelaysProduction = [hour, 12 * hour, 24 * hour, 48 * hour, 72 * hour]
    /// In the sandbox Apple attempts once.
    private static let retryDelaysSandbox: [Int64] = []

    init(
        of notification: TracedNotification, among others: [TracedNotification],
        localAsOf: Timestamp?, inboxIsKept: Bool, environment: String, now: Timestamp
    ) {
        let attempts = notification.sendAttempts.sorted { $0.attemptDate < $1.attemptDate }
        guard let success = attempts.first(where: \.isSuccess) else {
            self = Self.failure(attempts, environment: environment, now: now)
            return
        }
        result = success.result
        attempt = success.attemptDate
        if inboxIsKept, notification.receivedAt == nil {
            delivery = .lostAfterSuccess
        } else if let overwriting = Self.overwriting(
            notification, deliveredAt: success.attemptDate, among: others, localAsOf: localAsOf)
        {
            delivery = .outOfOrder
            attempt = overwriting
        } else if let failed = attempts.first, !failed.isSuccess {
            delivery = .late
            (result, attempt) = (failed.result, failed.attemptDate)
        } else if success.attemptDate.milliseconds(since: notification.signedDate)
            > Self.lateMilliseconds
        {
            delivery = .late
        } else {
            delivery = .notApplied
        }
    }

    init(delivery: Delivery, result: String?, attempt: Timestamp?) {
        self.delivery = delivery
        self.result = result
        self.attempt = attempt
    }

    private static func failure(
        _ attempts: [SendAttempt], environment: String, now: Timestamp
    ) -> DeliveryReading {
        guard let first = attempts.first, let last = attempts.last else {
            return DeliveryReading(delivery: .notAttempted, result: nil, attempt: nil)
        }
        var reading = DeliveryReading(
            delivery: first.result == "UNSUCCESSFUL_HTTP_RESPONSE_CODE" ? .refused : .unreached,
            result: first.result, attempt: first.attemptDate)
        let delays =
            environment == AppStoreEnvironment.sandbox.rawValue
            ? retryDelaysSandbox : retryDelaysProduction
        if attempts.count <= delays.count {
            let due = last.attemptDate.adding(milliseconds: delays[attempts.count - 1])
            reading.isStillRetried = due.adding(milliseconds: hour) > now
        }
        return reading
    }

    /// When an older notification was delivered after this one and our row has the older one's
    /// values; `nil` where that did not happen.
    private static func overwriting(
        _ notification: TracedNotification, deliveredAt delivered: Timestamp,
        among others: [TracedNotification], localAsOf: Timestamp?
    ) -> Timestamp? {
        guard let localAsOf else { return nil }
        return others.compactMap { older -> Timestamp? in
            guard older.signedDate < notification.signedDate,
                older.signedDate.milliseconds(since: localAsOf).magnitude
                    <= CauseSearch.sameStatementMilliseconds,
                let success = older.sendAttempts.filter(\.isSuccess).map(\.attemptDate).min(),
                success > delivered
            else { return nil }
            return success
        }.min()
    }

    /// A short, constant text.
    var cause: String {
        let named = result.map { " (\($0))" } ?? ""
        return switch delivery {
        case .lostAfterSuccess: "lost by us: answered 200, but not in the inbox"
        case .notApplied: "delivered to us\(named), not applied"
        case .refused: "refused by us\(named)"
        case .unreached: "did not reach us\(named)"
        case .notAttempted: "not sent yet: Apple records no attempt"
        case .late:
            result == "SUCCESS"
                ? "late: delivered long after it was signed, not applied"
                : "late: delivered by a retry, not applied; first attempt\(named)"
        case .outOfOrder: "out of order: an older notification came after it and overwrote it"
        case .neverSent: "never sent: Apple's history holds no notification of the change"
        case .changedByUs: "changed by us: the row contradicts the statement that it rests on"
        case .unknown: "unknown"
        }
    }
}
