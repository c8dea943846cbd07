package import Subscriptions

/// The cause of a finding, as far as it is known.
package struct FindingCause: Hashable, Sendable {
    /// A short, constant text; findings are grouped by it.
    package var text: String
    /// `nil` for causes that no notification could have prevented.
    package var delivery: Delivery?
    package var result: String?
    /// The notification that should have brought the change.
    package var notification: TracedNotification?
    /// When the delivery attempt was made that the cause is about.
    package var attempt: Timestamp?
    package var isStillRetried = false

    package init(text: String, delivery: Delivery? = nil) {
        self.text = text
        self.delivery = delivery
    }
}

/// Finds the cause of one finding in Apple's history of notifications.
///
/// In this order:
/// 1. for a finding about a notification: how that notification was delivered;
/// 2. for a refused correction: why it was refused;
/// 3. a pattern in the value itself (time zone, unit), which no notification explains;
/// 4. the newest fitting notification after our row's statement, and how it was delivered;
/// 5. without one, when the change is older than our row's statement: we changed the row ourselves;
/// 6. or, when Apple's history covers the time of the change: Apple never sent a notification;
/// 7. otherwise unknown, and the text says why.
///
/// A finding without a cause from its rule gets none.
package struct CauseSearch: Hashable, Sendable {
    /// The part of Apple's notification history that was read completely; `nil` when none was.
    package var history: NotificationWindow?
    /// Whether the company imports what its endpoint received.
    package var inboxIsKept: Bool
    package var now: Timestamp

    /// The payloads inside a notification are signed shortly before the notification itself.
    static let sameStatementMilliseconds = 5 * Milliseconds.perSecond
    /// Apple charges up to a day before the paid period begins.
    static let earlyChargeMilliseconds = 25 * Milliseconds.perHour
    /// How long after a change Apple may sign its notification.
    static let signingMilliseconds = Milliseconds.perHour

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
        // The reader of the report must learn why it was not written.
        if finding.action == .refused { return ownCause(finding) }
        if let pattern = ValuePattern(of: finding) { return FindingCause(text: pattern.cause) }
        let expected = ExpectedNotification(of: finding)
        guard !expected.isNone else { return ownCause(finding) }
        let fitting = notifications.filter(expected.fits).filter { notification in
            finding.appleAsOf.map { notification.signedDate <= $0 } ?? true
        }
        if let match = match(fitting, finding) { return delivered(match, finding, notifications) }
        return unsent(finding, wasNotified: wasNotified(finding, expected, notifications))
    }

    private func ownCause(_ finding: Finding) -> FindingCause? {
        finding.cause.map { FindingCause(text: $0) }
    }

    /// The newest notification that is newer than our row's statement and fits the time of the
    /// change.
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
            // Notifications much later than a past period belong to later periods.
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
        FindingCause(
            of: notification, among: others, localAsOf: finding.localAsOf,
            inboxIsKept: inboxIsKept, environment: finding.environment, now: now)
    }

    /// Whether our row was written from a statement that already contained the change.
    private func wasNotified(
        _ finding: Finding, _ expected: ExpectedNotification, _ notifications: [TracedNotification]
    ) -> Bool {
        guard let known = finding.localAsOf, finding.kind != .transactionMissing else {
            return false
        }
        if let changed = finding.changedAt, changed <= known { return true }
        // The newest notification of that kind decides: a change may have been reverted and
        // repeated.
        let end = known.adding(milliseconds: Self.sameStatementMilliseconds)
        let newest = notifications.filter { $0.signedDate <= end && expected.concerns($0) }
            .max { $0.signedDate < $1.signedDate }
        guard let newest, expected.fits(newest) else { return false }
        return finding.changedAt.map {
            newest.signedDate.milliseconds(since: $0) >= -Self.earlyChargeMilliseconds
        } ?? true
    }

    private func unsent(_ finding: Finding, wasNotified: Bool) -> FindingCause? {
        guard !wasNotified else { return FindingCause(.changedByUs) }
        let changed = finding.changedAt
        guard let history else {
            // The job does not read the history: only the cause from the rule is known.
            return finding.cause.map { FindingCause(text: $0, delivery: .unknown) }
        }
        let earliest = changed?.adding(milliseconds: -Self.earlyChargeMilliseconds)
        guard let from = earliest ?? finding.localAsOf else {
            return unknown(finding, "the row does not say which statement it rests on")
        }
        guard history.start <= from else {
            return unknown(finding, Self.notRead)
        }
        guard let changed else {
            return unknown(
                finding, "no notification since the row's statement; never sent, or changed by us")
        }
        guard changed.adding(milliseconds: Self.signingMilliseconds) <= history.end else {
            return unknown(finding, "too recent for the notification history")
        }
        return FindingCause(.neverSent)
    }

    private static let notRead = "the notification history was not read that far back"

    /// The beginning of every cause that is not known.
    private static let unknown = "unknown: "

    private func unknown(_ finding: Finding, _ why: String) -> FindingCause? {
        finding.cause.map { _ in FindingCause(text: Self.unknown + why, delivery: .unknown) }
    }

    /// Whether a cause is unknown only because this run did not read so far back: an earlier one may
    /// have.
    package static func isUnread(_ cause: FindingCause) -> Bool {
        cause.text == unknown + notRead
    }

    /// The cause that an earlier run found; `nil` where it knew no more.
    package static func known(before text: String) -> FindingCause? {
        text.hasPrefix(unknown) ? nil : FindingCause(text: text)
    }
}

/// Groups the findings of a run by cause, in bounded memory.
///
/// Findings are added in the order in which they were staged, so that those of one row are
/// adjacent. The clusters do not depend on the order of the rows.
package struct CauseTally: Sendable {
    /// How many different causes are kept; the rest is one cluster.
    package static let causes = 500
    package static let otherCauses = "other causes"

    /// By bundle, environment and cause.
    private var clusters: [[String]: ClusterDraft] = [:]

    package init() {}

    package mutating func add(_ item: FindingToExplain, _ cause: FindingCause) {
        var (bundleID, environment) = (item.finding.bundleID, item.finding.environment)
        var cause = cause
        if clusters[[bundleID, environment, cause.text]] == nil, clusters.count >= Self.causes {
            (bundleID, environment) = ("", "")
            cause = FindingCause(text: Self.otherCauses)
        }
        clusters[
            [bundleID, environment, cause.text],
            default: ClusterDraft(
                CauseCluster(
                    bundleID: bundleID, environment: environment, cause: cause.text,
                    delivery: cause.delivery, result: cause.result))
        ].add(item, cause)
    }

    /// The clusters, the one with the most findings first.
    package var result: [CauseCluster] {
        clusters.values.map(\.finished).sorted { left, right in
            guard left.findings == right.findings else { return left.findings > right.findings }
            return (left.cause, left.bundleID, left.environment)
                < (right.cause, right.bundleID, right.environment)
        }
    }
}

/// A cluster while findings are added to it.
private struct ClusterDraft {
    /// How many different products are counted in one cluster.
    private static let products = 256
    /// The share of findings, in tenths, from which on a product is the cluster's.
    private static let sharedTenths = 9

    private var cluster: CauseCluster
    private var attempts = MinuteHistogram()
    private var products: [String: Int] = [:]
    /// By direction and currency.
    private var money: [[String]: MoneyTotal] = [:]
    /// The row whose findings are being added.
    private var row: SubscriptionKey?
    private var corrections: Set<Int64> = []
    private var notifications: Set<String> = []

    init(_ cluster: CauseCluster) { self.cluster = cluster }

    mutating func add(_ item: FindingToExplain, _ cause: FindingCause) {
        let finding = item.finding
        let isAboutNotification =
            finding.kind == .notificationMissed || finding.kind == .notificationLost
        cluster.findings += 1
        cluster.kinds[finding.kind.rawValue, default: 0] += 1
        if isAboutNotification {
            if let notification = cause.notification { count(notification, cause) }
        } else {
            addRow(item, cause)
        }
        if let id = finding.key?.originalTransactionID {
            cluster.example = cluster.example.map { min($0, id) } ?? id
        }
        if let product = finding.productID,
            products[product] != nil || products.count < Self.products
        {
            products[product, default: 0] += 1
        }
        if item.countsAmount { addMoney(finding) }
    }

    private mutating func addRow(_ item: FindingToExplain, _ cause: FindingCause) {
        if let key = item.finding.key, key != row {
            row = key
            corrections = []
            notifications = []
            cluster.rows += 1
        }
        if let correction = item.correction, corrections.insert(correction).inserted {
            cluster.corrections += 1
            if corrections.count == 1 { cluster.correctedRows = (cluster.correctedRows ?? 0) + 1 }
        }
        // A notification with a finding of its own is counted with that finding.
        if let notification = cause.notification, !notification.isReported,
            notifications.insert(notification.notificationUUID).inserted
        {
            count(notification, cause)
        }
    }

    private mutating func count(_ notification: TracedNotification, _ cause: FindingCause) {
        cluster.notifications += 1
        if cause.isStillRetried { cluster.stillRetried += 1 }
        let subtype = notification.subtype.map { ".\($0)" } ?? ""
        cluster.notificationTypes[notification.notificationType + subtype, default: 0] += 1
        guard let attempt = cause.attempt else { return }
        attempts.add(attempt)
        cluster.firstAttempt = cluster.firstAttempt.map { min($0, attempt) } ?? attempt
        cluster.lastAttempt = cluster.lastAttempt.map { max($0, attempt) } ?? attempt
    }

    private mutating func addMoney(_ finding: Finding) {
        guard let amount = finding.amount, let currency = finding.currency else { return }
        let key = [finding.direction.rawValue, currency]
        var total =
            money[key]
            ?? MoneyTotal(
                currency: currency, direction: finding.direction, amount: 0, findings: 0)
        let (sum, overflow) = total.amount.addingReportingOverflow(amount)
        total.amount = overflow ? (amount > 0 ? .max : .min) : sum
        total.findings += 1
        money[key] = total
    }

    var finished: CauseCluster {
        var finished = cluster
        finished.bursts = attempts.bursts
        finished.money = money.values.sorted {
            ($0.direction.rawValue, $0.currency) < ($1.direction.rawValue, $1.currency)
        }
        let named = products.values.reduce(0, +)
        finished.productID =
            products.filter { $0.value > 1 && $0.value * 10 >= named * Self.sharedTenths }
            .keys.min()
        return finished
    }
}
