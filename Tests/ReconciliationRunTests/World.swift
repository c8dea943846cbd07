import Logging
import Reconciliation
import ReconciliationRun
import StoreSupport
import Subscriptions

/// A company's table and an App Store that agree, for nights to disturb.
struct World {
    static let app = AppIdentity(bundleID: "com.example.app", environment: .production)
    static let start = Timestamp(unixMilliseconds: 1_795_144_624_000)
    static let hour: Int64 = 3_600_000

    let store = WorldStore()
    let apple = ScriptedAppStore(Self.app)
    /// Further apps that the company has.
    var others: [ScriptedAppStore] = []

    /// - Parameter rows: how many subscriptions are held, each of a customer of its own.
    init(rows: Int = 0) {
        let stated = (0..<rows).map { Self.stated(Self.id($0)) }
        store.hold(stated.map { Self.row(of: $0) })
        for stated in stated { say([stated]) }
    }

    static func id(_ number: Int) -> String { "\(2_000_000_000_000_100 + number)" }

    static func key(_ id: String) -> SubscriptionKey {
        SubscriptionKey(app: app, originalTransactionID: id)
    }

    /// Our row and Apple agree that the subscription is active.
    func agree(_ id: String) {
        let stated = Self.stated(id)
        store.hold(Self.row(of: stated))
        say([stated])
    }

    /// Apple says that the subscription has expired; our row does not know of it.
    func expire(_ id: String) { say([Self.stated(id, .expired)]) }

    /// What Apple answers about each of these ids: all of them, as one customer's.
    func say(_ subscriptions: [StatedSubscription]) {
        let answer = Lookup.answered(StatusAnswer(subscriptions: subscriptions))
        let history = Lookup.answered(
            HistoryPage(
                transactions: subscriptions.map(\.transaction), revision: "r", hasMore: false))
        apple.change { script in
            for stated in subscriptions {
                script.statuses[stated.originalTransactionID] = answer
                script.histories[stated.originalTransactionID] = [history]
            }
        }
    }

    func status(of id: String) -> Int? { store.status(of: Self.key(id)) }

    /// Runs the job once, as a process of its own.
    ///
    /// - Throws: `StoreError` where not even the conclusion could be stored.
    @discardableResult
    func night(
        _ runID: String, after hours: Int64 = 0, stop: StopRequest = StopRequest(),
        deadline: ContinuousClock.Instant = .now.advanced(by: .seconds(3600)),
        _ change: (inout ReconciliationJob) -> Void = { _ in },
        progress: @escaping @Sendable (RunProgress) -> Void = { _ in }
    ) async throws -> RunConclusion {
        let now = Self.start.adding(milliseconds: hours * Self.hour)
        var job = Self.job
        job.policy.apps += others.map(\.app)
        change(&job)
        var header = RunHeader(
            runID: runID, job: job.name, mode: job.mode, started: now,
            apps: [Self.app] + others.map(\.app),
            actor: "ops@host", toolVersion: "1.0", settingsDigest: "digest",
            filters: Self.words(of: job.filters), notFoundConfirmations: 3)
        let asksEverybody = job.coverage == .full || job.filters.ids != nil
        header.coversEveryRow =
            asksEverybody && job.steps.contains(.walk) && job.planSource == .judgement
        let stores = [apple] + others
        for store in stores { store.newRun() }
        return try await Reconciler(
            job: job, header: header, appStores: stores, store: store.books,
            clock: RunClock(now: { now }, deadline: deadline),
            stop: stop, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            progress: progress
        ).run()
    }

    /// A narrowing to apps alone is told from others by its words.
    private static func words(of filters: RunFilters) -> [String] {
        let apps = (filters.apps ?? []).sorted().map { RunHeader.appFilterPrefix + $0.name }
        return (filters.leavesOutRows ? ["narrowed"] : []) + apps
    }

    static var job: ReconciliationJob {
        var guards = GuardLimits()
        guards.minChanges = 1000
        return ReconciliationJob(
            name: "nightly", steps: [.recover, .walk], mode: .apply, failOn: .high,
            maxDurationMilliseconds: hour,
            policy: Policy(
                now: start, apps: [app], settleMilliseconds: 15 * 60_000,
                notFoundConfirmations: 3, history: .never, reportOnlyFields: []),
            guards: guards,
            recover: RecoverSettings(
                overlapMilliseconds: hour, lookbackMilliseconds: 7 * 24 * hour,
                inboxIsKept: true))
    }

    static func payload(_ name: String) -> SignedPayload { .made(of: name) }

    /// Apple's statement, signed an hour before the first night.
    static func stated(
        _ id: String, _ status: SubscriptionStatus = .active,
        _ change: (inout StatedSubscription) -> Void = { _ in }
    ) -> StatedSubscription {
        let day = 24 * hour
        var transaction = SignedTransaction(
            evidence: payload("transaction \(id) \(status)"), transactionID: id + "7",
            originalTransactionID: id, signedDate: start.adding(milliseconds: -hour))
        transaction.bundleID = app.bundleID
        transaction.environment = app.environment.rawValue
        transaction.webOrderLineItemID = id + "8"
        transaction.productID = "gold.monthly"
        transaction.subscriptionGroupID = "group"
        transaction.type = "Auto-Renewable Subscription"
        transaction.purchaseDate = start.adding(milliseconds: -40 * day)
        transaction.originalPurchaseDate = start.adding(milliseconds: -100 * day)
        transaction.expiresDate = start.adding(
            milliseconds: status == .expired ? -10 * day : 20 * day)
        transaction.inAppOwnershipType = "PURCHASED"
        var renewal = SignedRenewal(
            evidence: payload("renewal \(id) \(status)"), originalTransactionID: id,
            signedDate: start.adding(milliseconds: -hour))
        renewal.autoRenewProductID = "gold.monthly"
        renewal.autoRenewStatus = status == .expired ? 0 : 1
        if status == .expired { renewal.expirationIntent = 1 }
        renewal.renewalDate = transaction.expiresDate
        var stated = StatedSubscription(
            status: status, subscriptionGroupID: "group", transaction: transaction,
            renewal: renewal)
        change(&stated)
        return stated
    }

    /// A row that says exactly what Apple states, on a statement of two days before.
    static func row(
        of stated: StatedSubscription, _ change: (inout LocalSubscription) -> Void = { _ in }
    ) -> LocalSubscription {
        var row = LocalSubscription(key: key(stated.originalTransactionID))
        row.customerID = "customer of \(stated.originalTransactionID)"
        row.productID = stated.transaction.productID
        row.status = stated.status.rawValue
        row.expiresDate = stated.transaction.expiresDate
        row.autoRenewStatus = stated.renewal.autoRenewStatus
        row.autoRenewProductID = stated.renewal.autoRenewProductID
        row.inAppOwnershipType = stated.transaction.inAppOwnershipType
        row.latestTransactionID = stated.transaction.transactionID
        row.webOrderLineItemID = stated.transaction.webOrderLineItemID
        row.signedDate = start.adding(milliseconds: -48 * hour)
        change(&row)
        return row
    }
}

extension StoredReport {
    /// How many rows are undecided for each reason.
    var undecidedCounts: [UndecidedReason: Int] {
        Dictionary(grouping: undecided.values) { $0 }.mapValues(\.count)
    }
}
