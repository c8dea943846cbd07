package import Subscriptions

/// The cause that follows from Apple's record of delivering one notification.
extension FindingCause {
    /// A delivery later than this after signing is late, even without a failed attempt.
    private static let lateMilliseconds = 15 * Milliseconds.perMinute
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
        if let success = attempts.first(where: \.isSuccess) {
            let (result, delivered) = (success.result, success.attemptDate)
            if inboxIsKept, notification.receivedAt == nil {
                self.init(.lostAfterSuccess, result, attempt: delivered)
            } else if let overwriting = Self.overwriting(
                notification, deliveredAt: delivered, among: others, localAsOf: localAsOf)
            {
                self.init(.outOfOrder, result, attempt: overwriting)
            } else if let failed = attempts.first, !failed.isSuccess {
                self.init(.late, failed.result, attempt: failed.attemptDate)
            } else {
                let delay = delivered.milliseconds(since: notification.signedDate)
                self.init(
                    delay > Self.lateMilliseconds ? .late : .notApplied, result, attempt: delivered)
            }
        } else if let first = attempts.first, let last = attempts.last {
            self.init(
                first.result == "UNSUCCESSFUL_HTTP_RESPONSE_CODE" ? .refused : .unreached,
                first.result, attempt: first.attemptDate)
            let delays =
                environment == AppStoreEnvironment.sandbox.rawValue
                ? Self.retryDelaysSandbox : Self.retryDelaysProduction
            if attempts.count <= delays.count {
                let due = last.attemptDate.adding(milliseconds: delays[attempts.count - 1])
                isStillRetried = due.adding(milliseconds: Self.hour) > now
            }
        } else {
            self.init(.notAttempted)
        }
        self.notification = notification
    }

    /// - Parameters:
    ///   - delivery: How the notification was delivered, if at all.
    ///   - result: `sendAttemptResult` of the attempt that the cause is about.
    ///   - attempt: When that attempt was made.
    init(_ delivery: Delivery, _ result: String? = nil, attempt: Timestamp? = nil) {
        self.init(text: Self.text(of: delivery, result), delivery: delivery)
        self.result = result
        self.attempt = attempt
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

    private static func text(of delivery: Delivery, _ result: String?) -> String {
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

/// The notifications that report a change, by the kind of finding and Apple's value.
///
/// Source: App Store Server Notifications, `notificationType` and `subtype`, with the effect that
/// Apple documents for each. There are none for kinds that no notification could have prevented.
struct ExpectedNotification: Hashable {
    private var types: Set<String> = []
    /// Types that fit only with these subtypes; `""` means no subtype.
    private var narrow: [String: Set<String>] = [:]

    init(of finding: Finding) {
        switch finding.kind {
        case .accessMissing, .accessUnpaid, .revocationMissed, .refundReversalMissed, .graceMissed,
            .status:
            expectStatus(finding)
        case .expiry:
            expectPeriod()
            types.insert("RENEWAL_EXTENDED")
        case .product, .latestTransaction, .transactionMissing: expectPeriod()
        case .renewalPreference: expectPreference(finding)
        case .revocationDate:
            types = finding.appleValue == .null ? ["REFUND_REVERSED"] : ["REFUND", "REVOKE"]
        case .ownership: types = ["SUBSCRIBED", "REVOKE"]
        case .missingLocally: types = ["SUBSCRIBED", "OFFER_REDEEMED"]
        default: break
        }
    }

    /// Whether no notification could have prevented the finding.
    var isNone: Bool { types.isEmpty && narrow.isEmpty }

    func fits(_ notification: TracedNotification) -> Bool {
        guard !notification.isAboutSeats else { return false }
        return types.contains(notification.notificationType)
            || narrow[notification.notificationType]?.contains(notification.subtype ?? "") ?? false
    }

    /// Whether a notification is about the same property, whatever its value.
    func concerns(_ notification: TracedNotification) -> Bool {
        guard !notification.isAboutSeats else { return false }
        return types.contains(notification.notificationType)
            || narrow[notification.notificationType] != nil
    }

    /// Expects the notifications that begin a new period.
    private mutating func expectPeriod() {
        types = ["DID_RENEW", "SUBSCRIBED", "OFFER_REDEEMED"]
        narrow["DID_CHANGE_RENEWAL_PREF"] = ["UPGRADE"]
    }

    private mutating func expectStatus(_ finding: Finding) {
        guard finding.field == SubscriptionField.status.rawValue,
            case .integer(let apple) = finding.appleValue
        else {
            guard finding.kind == .graceMissed else { return }
            if finding.appleValue == .null {
                // It is over: the charge succeeded, or the period ended without it.
                types = ["GRACE_PERIOD_EXPIRED", "EXPIRED"]
                narrow["DID_RENEW"] = ["BILLING_RECOVERY"]
            } else {
                narrow["DID_FAIL_TO_RENEW"] = ["GRACE_PERIOD"]
            }
            return
        }
        let wasRevoked =
            finding.localValue == .integer(Int64(SubscriptionStatus.revoked.rawValue))
        switch SubscriptionStatus(rawValue: Int(apple)) {
        case .active:
            if wasRevoked {
                types = ["REFUND_REVERSED", "SUBSCRIBED"]
            } else {
                expectPeriod()
                types.insert("RENEWAL_EXTENDED")
            }
        case .expired: types = ["EXPIRED"]
        case .billingRetry:
            types = ["GRACE_PERIOD_EXPIRED"]
            narrow["DID_FAIL_TO_RENEW"] = [""]
        case .billingGracePeriod:
            if wasRevoked { types = ["REFUND_REVERSED"] }
            narrow["DID_FAIL_TO_RENEW"] = ["GRACE_PERIOD"]
        case .revoked: types = ["REFUND", "REVOKE"]
        default: break
        }
    }

    private mutating func expectPreference(_ finding: Finding) {
        guard finding.field == SubscriptionField.autoRenewStatus.rawValue else {
            types = ["DID_CHANGE_RENEWAL_PREF", "OFFER_REDEEMED", "DID_RENEW", "SUBSCRIBED"]
            return
        }
        if finding.appleValue == .integer(0) {
            // Apple turns renewal off by itself when a subscription ends.
            types = ["EXPIRED", "REFUND", "REVOKE"]
            narrow["DID_CHANGE_RENEWAL_STATUS"] = ["AUTO_RENEW_DISABLED"]
        } else {
            types = ["SUBSCRIBED"]
            narrow["DID_CHANGE_RENEWAL_STATUS"] = ["AUTO_RENEW_ENABLED"]
        }
    }
}

extension TracedNotification {
    /// Whether it reports only that the number of seats changes: it ends and begins nothing.
    fileprivate var isAboutSeats: Bool {
        ["SEATS", "INCREASE_QUANTITY", "DECREASE_QUANTITY"].contains(subtype)
    }
}

/// Counts delivery attempts by minute, in bounded memory.
///
/// When there are too many different minutes, several are counted as one. The result does not
/// depend on the order in which attempts are added.
package struct MinuteHistogram: Hashable, Sendable {
    /// How many stretches of minutes are counted before each is made twice as long.
    package static let stretches = 4096
    /// Attempts no further apart than this belong to one burst.
    package static let pauseMinutes: Int64 = 5
    /// How many bursts are reported.
    package static let mostBursts = 3

    private var minutesPerStretch: Int64 = 1
    private var counts: [Int64: Int] = [:]

    package init() {}

    package mutating func add(_ moment: Timestamp) {
        let length = minutesPerStretch * Milliseconds.perMinute
        counts[moment.unixMilliseconds.floorDivided(by: length).quotient, default: 0] += 1
        while counts.count > Self.stretches {
            minutesPerStretch *= 2
            var wider: [Int64: Int] = [:]
            for (stretch, count) in counts {
                wider[stretch.floorDivided(by: 2).quotient, default: 0] += count
            }
            counts = wider
        }
    }

    /// The largest bursts of at least two attempts, in time order.
    package var bursts: [CauseBurst] {
        var bursts: [CauseBurst] = []
        let length = minutesPerStretch * Milliseconds.perMinute
        let pause = max(Self.pauseMinutes, minutesPerStretch) * Milliseconds.perMinute
        for (stretch, count) in counts.sorted(by: { $0.key < $1.key }) {
            let (first, overflow) = stretch.multipliedReportingOverflow(by: length)
            let start = Timestamp(unixMilliseconds: overflow ? .min : first)
            let end = start.adding(milliseconds: length - Milliseconds.perMinute)
            if let last = bursts.last, start.milliseconds(since: last.end) <= pause {
                bursts[bursts.count - 1].end = end
                bursts[bursts.count - 1].notifications += count
            } else {
                bursts.append(CauseBurst(start: start, end: end, notifications: count))
            }
        }
        return bursts.filter { $0.notifications > 1 }
            .sorted { ($1.notifications, $0.start) < ($0.notifications, $1.start) }
            .prefix(Self.mostBursts).sorted { $0.start < $1.start }
    }
}
