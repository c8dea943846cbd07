package import Subscriptions

/// Groups the findings of a run by cause, in bounded memory.
///
/// Findings are added in the order in which they were staged, so that those of one row are
/// adjacent. The clusters do not depend on the order of the rows.
package struct CauseTally: Sendable {
    /// How many different causes are kept; the rest is one cluster.
    package static let causes = 500
    package static let otherCauses = "other causes"

    private struct Key: Hashable {
        let bundleID: String
        let environment: String
        let cause: String
    }

    private var clusters: [Key: ClusterDraft] = [:]

    package init() {}

    package mutating func add(_ item: FindingToExplain, _ cause: FindingCause) {
        let finding = item.finding
        var key = Key(
            bundleID: finding.bundleID, environment: finding.environment, cause: cause.text)
        var cause = cause
        if clusters[key] == nil, clusters.count >= Self.causes {
            key = Key(bundleID: "", environment: "", cause: Self.otherCauses)
            cause = FindingCause(text: Self.otherCauses)
        }
        clusters[
            key,
            default: ClusterDraft(
                CauseCluster(
                    bundleID: key.bundleID, environment: key.environment, cause: key.cause,
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
    private var money: [MoneyKey: MoneyTotal] = [:]
    /// The row whose findings are being added.
    private var row: SubscriptionKey?
    private var corrections: Set<Int64> = []
    private var notifications: Set<String> = []

    private struct MoneyKey: Hashable {
        let currency: String
        let direction: Direction
    }

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
        let key = MoneyKey(currency: currency, direction: finding.direction)
        var total =
            money[key]
            ?? MoneyTotal(currency: currency, direction: key.direction, amount: 0, findings: 0)
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
