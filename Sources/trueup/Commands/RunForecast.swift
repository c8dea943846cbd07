import AppStoreServerAPI
import Reconciliation
import ReconciliationRun
import SubscriptionStore
import Subscriptions

/// The calls, time and share of the quota that a run of a job would need: counted questions, turned
/// into calls, and last runs for what only Apple's answers tell.
struct RunForecast: Hashable, Sendable {
    /// How a number of calls was found.
    enum Basis: String, Hashable, Sendable {
        /// Counted in the table and on the queue.
        case counted
        /// Counted, and partly by what the last runs of the job needed or by a random draw.
        case forecast
        /// Apple alone knows, and no earlier run of the job tells.
        case unknown
    }

    /// Calls of one endpoint about one app.
    struct Line: Hashable, Sendable {
        var app: AppIdentity
        var endpoint: Endpoint
        var least: Int
        /// `nil` where nothing tells.
        var expected: Int?
        var most: Int?
        var basis: Basis
        /// How long the expected calls take at the rate that the settings allow.
        var milliseconds: Int64?
        /// Expected calls as a part of those that the settings allow in an hour; above 1 for more
        /// than an hour's.
        var shareOfHour: Double?
        /// The share of Apple's whole limit, which the company's servers use as well.
        var shareOfAppleHour: Double?
    }

    var questions: QuestionForecast
    var lines: [Line]
    /// Reading notifications, then asking; `nil` where no line is known.
    var milliseconds: Int64?
    var maxDurationMilliseconds: Int64
    /// Whether the notifications that the run reads first change what it asks.
    var readsNotifications: Bool

    /// - Parameters:
    ///   - questions: What the database tells.
    ///   - job: Its steps, coverage and use of the history.
    ///   - apps: Those that the run is for.
    ///   - configured: All apps that the last runs were for; `nil` where the run is for all.
    ///   - rows: Rows of each app: what the last runs needed is divided by them.
    init(
        _ questions: QuestionForecast, job: JobSettings, apps: [AppSettings],
        among configured: [AppIdentity]? = nil, rows: [AppRows]
    ) {
        self.questions = questions
        maxDurationMilliseconds = job.maxDurationMilliseconds
        readsNotifications = job.steps.contains(.recover)
        let shares = Self.shares(of: configured ?? apps.map(\.identity), among: rows)
        lines = apps.flatMap { app in
            Self.lines(
                questions, job: job, app: app, share: shares[app.identity] ?? 1,
                rows: Self.count(rows, of: app.identity))
        }
        let known = lines.filter { $0.milliseconds != nil }
        guard !known.isEmpty else { return }
        // Notifications are read before anything is asked, and one app after the other is checked;
        // the other endpoints are called side by side.
        milliseconds = Dictionary(grouping: known, by: \.app).values.reduce(0) { sum, lines in
            let reading = lines.filter { $0.endpoint == .notificationHistory }
            let asking = lines.filter { $0.endpoint != .notificationHistory }
            let readingMilliseconds = reading.reduce(0) { $0 + ($1.milliseconds ?? 0) }
            let longestAsking = asking.compactMap(\.milliseconds).max() ?? 0
            return sum + readingMilliseconds + longestAsking
        }
    }

    private static func count(_ rows: [AppRows], of app: AppIdentity) -> Int {
        rows.filter { $0.belong(to: app) }.reduce(0) { $0 + $1.rows }
    }

    /// How much of what all apps needed together is put down to each.
    private static func shares(
        of apps: [AppIdentity], among rows: [AppRows]
    ) -> [AppIdentity: Double] {
        let counts = apps.map { count(rows, of: $0) }
        let all = counts.reduce(0, +)
        return Dictionary(
            zip(apps, counts).map { app, count in
                (app, all > 0 ? Double(count) / Double(all) : 1 / Double(apps.count))
            }
        ) { first, _ in first }
    }

    private static func lines(
        _ questions: QuestionForecast, job: JobSettings, app: AppSettings, share: Double,
        rows: Int
    ) -> [Line] {
        let identity = app.identity
        var lines: [Line] = []
        if job.steps.contains(.recover) {
            let past = Spread(questions.pastRuns.compactMap { $0.calls[.notificationHistory] })
            lines.append(
                Line(.notificationHistory, of: identity, past?.part(share), atLeast: 1))
        }
        let statuses = statuses(questions, job: job, of: identity, share: share, rows: rows)
        lines.append(statuses)
        if job.history != .never {
            let past = Spread(questions.pastRuns.map { $0.calls[.transactionHistory] ?? 0 })
            let pages = questions.furtherPages[identity]
            let least =
                job.history == .always
                ? statuses.least + (pages?.further(ofCustomers: statuses.least) ?? 0) : 0
            lines.append(
                Line(.transactionHistory, of: identity, past?.part(share), atLeast: least))
        }
        let info = Spread(questions.pastRuns.map { $0.calls[.transactionInfo] ?? 0 })
        if let info, info.most > 0 {
            lines.append(Line(.transactionInfo, of: identity, info.part(share), atLeast: 0))
        }
        if let refunds = questions.refunds[identity] {
            // A further page is needed for every 20 transactions.
            let histories = refunds.tonightWithoutSubscription
            lines.append(
                Line(.refundHistory, of: identity, forecast: refunds.tonight - histories))
            if let index = lines.firstIndex(where: { $0.endpoint == .transactionHistory }) {
                lines[index].expected = lines[index].expected.map { $0 + histories }
            } else if histories > 0 {
                lines.append(Line(.transactionHistory, of: identity, forecast: histories))
            }
        }
        return lines.map { $0.timed(by: app) }
    }

    /// One call for each customer who is checked.
    ///
    /// Notifications that the run reads first add questions, and with `coverage: delta` settle some
    /// without a call. Where nearly every row is checked, they name rows that are checked anyway.
    private static func statuses(
        _ questions: QuestionForecast, job: JobSettings, of app: AppIdentity, share: Double,
        rows: Int
    ) -> Line {
        let counted = questions.asked[app] ?? CustomerCount()
        var calls = Line(
            app: app, endpoint: .subscriptionStatuses, least: counted.count,
            expected: counted.count, most: counted.count,
            basis: counted.isExact && !questions.drawsPart ? .counted : .forecast)
        if questions.drawsPart { calls.most = nil }
        guard job.steps.contains(.recover) else { return calls }
        calls.basis = .forecast
        let coverages = questions.pastRuns.compactMap(\.coverage)
        let named = Spread(coverages.map { $0.asked[.notification] ?? 0 })?.part(share)
        calls.most = calls.most.flatMap { most in named.map { most + $0.most } }
        guard job.coverage == .delta || !job.steps.contains(.walk) else { return calls }
        let settled = Spread(coverages.map(\.settledByNotification))?.part(share)
        calls.least = settled.map { max(0, counted.count - $0.most) } ?? 0
        let known = [rows, questions.customers.count].filter { $0 > 0 }.min() ?? .max
        calls.expected = min(counted.count + (named?.middle ?? 0), max(counted.count, known))
        return calls
    }
}

extension RunForecast.Line {
    /// A number that no earlier run confirms.
    fileprivate init(_ endpoint: Endpoint, of app: AppIdentity, forecast expected: Int) {
        self.init(
            app: app, endpoint: endpoint, least: 0, expected: expected, most: nil,
            basis: .forecast)
    }

    /// Takes the numbers of the last runs.
    fileprivate init(
        _ endpoint: Endpoint, of app: AppIdentity, _ past: Spread?, atLeast least: Int
    ) {
        self.init(
            app: app, endpoint: endpoint, least: max(least, past?.least ?? 0),
            expected: past.map { max(least, $0.middle) }, most: past.map { max(least, $0.most) },
            basis: past == nil ? .unknown : .forecast)
    }

    /// The line with its time and its shares, where the number of calls is known.
    fileprivate func timed(by app: AppSettings) -> RunForecast.Line {
        guard let expected = expected.map(Double.init) else { return self }
        let rates = QuotaRates.allowed(by: app)
        let apple = QuotaRates.documented(environment: app.identity.environment, share: 1)
        var line = self
        line.milliseconds = Int64(min(1e15, expected / rates.perSecond(of: endpoint) * 1000))
        line.shareOfHour = expected / Double(rates.perHour(of: endpoint))
        line.shareOfAppleHour = expected / Double(apple.perHour(of: endpoint))
        return line
    }
}

/// The smallest, the middle and the largest of what the last runs needed.
private struct Spread {
    let least: Int
    let middle: Int
    let most: Int

    func part(_ share: Double) -> Spread {
        Spread(
            least: Int(Double(least) * share), middle: Int((Double(middle) * share).rounded()),
            most: Int((Double(most) * share).rounded(.up)))
    }
}

extension Spread {
    /// `nil` without any run.
    init?(_ numbers: [Int]) {
        let sorted = numbers.sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        self.init(least: first, middle: sorted[sorted.count / 2], most: last)
    }
}

extension [String: Int] {
    fileprivate subscript(endpoint: Endpoint) -> Int? { self[endpoint.rawValue] }
}

extension RunForecast {
    /// Counts what a run that began now would ask, by the scan of the table that the run itself
    /// makes.
    ///
    /// - Parameters:
    ///   - job: Which rows it covers.
    ///   - settings: The apps, and how fast they may be asked.
    ///   - only: The apps that the run is for; `nil` for all.
    ///   - now: When the run begins.
    ///   - store: Is read, and not changed.
    /// - Throws: `StoreError` when it cannot be read.
    init(
        of job: JobSettings, settings: Settings, apps only: Set<AppIdentity>? = nil,
        at now: Timestamp, in store: SQLiteStore
    ) async throws {
        let table = try await store.rowsByApp()
        var policy = Policy(
            now: now, apps: settings.identities, settleMilliseconds: job.settleMilliseconds,
            notFoundConfirmations: job.notFoundConfirmations, history: job.history,
            reportOnlyFields: job.reportOnlyFields)
        policy.keep(as: settings.company.mapping)
        policy.restoredAt = try store.newestRestore()
        policy.unconfiguredBundles = unconfiguredBundles(among: table, apps: settings.identities)
        var questions = try Self.questions(
            of: job, policy, apps: only,
            run: Self.header(of: job, settings, apps: only, at: now), in: store)
        let asked = settings.identities.filter { only?.contains($0) ?? true }
        let keepsPurchases =
            try settings.company.mapping?.purchases != nil || store.keepsPurchases()
        policy.keepsPurchases = keepsPurchases
        // A store program says only when it is started what it keeps, and no periods in any case.
        if settings.company.source != nil { policy.kept.hasPeriods = false }
        var job = job
        if job.history == .always, !policy.readsEveryHistory { job.history = .whenNeeded }
        if keepsPurchases, policy.history == .always {
            for app in asked { questions.furtherPages[app] = try await store.historyPages(of: app) }
        }
        if let days = job.purchaseSweepDays, job.steps.contains(.walk), keepsPurchases {
            for app in asked {
                let count = try await store.customersToRead(
                    in: RefundSweep(app: app, days: days, now: now))
                if count.customers > 0 { questions.refunds[app] = count }
            }
        }
        self.init(
            questions,
            job: job,
            apps: settings.apps.filter { only?.contains($0.identity) ?? true },
            among: settings.identities, rows: table)
    }

    /// Returns the header that a run of the job over all its rows, or those of some apps, would be
    /// recorded with.
    private static func header(
        of job: JobSettings, _ settings: Settings, apps only: Set<AppIdentity>?, at now: Timestamp
    ) -> RunHeader {
        var header = RunHeader(
            job, mode: job.mode, started: now, settings: settings,
            filters: RunFilters(apps: only).appsInWords)
        if let only { header.apps = only.sorted() }
        header.coversEveryRow = job.steps.contains(.walk) && job.coverage == .full
        header.countsTables = job.steps.contains(.walk)
        return header
    }

    private static func questions(
        of job: JobSettings, _ policy: Policy, apps only: Set<AppIdentity>?, run: RunHeader,
        in store: SQLiteStore
    ) throws -> QuestionForecast {
        // No run draws by this seed: which rows a run draws follows from its id.
        var request = ScheduleRequest(
            now: policy.now, sweepMilliseconds: Int64(job.sweepDays) * Milliseconds.perDay,
            sweepEndedMilliseconds: Int64(job.sweepEndedDays) * Milliseconds.perDay,
            sample: job.sample, seed: 0, apps: only)
        request.readsHistories = policy.history != .never
        let asked = request
        let scope: ForecastScope =
            if !job.steps.contains(.walk) {
                .pending
            } else if job.coverage == .delta {
                .delta(asked)
            } else {
                .full(isRound: job.mode == .apply)
            }
        let apps = Set(policy.apps)
        return try store.forecast(
            of: scope, run: run, apps: only.map(Array.init) ?? policy.apps,
            level: { sweepLevel(rowsByDaysLeft: $0) },
            due: { dueReason(of: $0, sweeping: $1, asked, apps: apps) },
            place: { row in
                if let only, !only.contains(where: { $0.owns(row.key) }) { return .leftOut }
                if let why = exclusion(of: row, policy: policy) { return .excluded(why) }
                return appToAsk(about: row, policy: policy).map { .asked($0) }
                    ?? .excluded(.appNotConfigured)
            })
    }

    /// The part that a report keeps.
    var inShort: CallForecast {
        var calls: [String: Int] = [:]
        for line in lines {
            guard let expected = line.expected else { continue }
            calls[line.endpoint.rawValue, default: 0] += expected
        }
        return CallForecast(
            questions: questions.questions.values.reduce(0, +), calls: calls,
            milliseconds: lines.allSatisfy { $0.expected != nil } ? milliseconds : nil)
    }
}
