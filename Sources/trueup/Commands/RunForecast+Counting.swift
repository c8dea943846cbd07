import Reconciliation
import SubscriptionStore
import Subscriptions

extension RunForecast {
    /// Counts what a run that began now would ask, by the scan of the table that the run itself makes.
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
        policy.keep(as: settings.company)
        policy.restoredAt = try store.newestRestore()
        policy.strayBundles = strayBundles(among: table, apps: settings.identities)
        self.init(
            try Self.questions(
                of: job, policy, apps: only, run: Self.header(of: job, settings, at: now),
                in: store),
            job: job,
            apps: settings.apps.filter { only?.contains($0.identity) ?? true },
            rows: table)
    }

    /// What a run of the job over all its rows would be recorded as.
    private static func header(
        of job: JobSettings, _ settings: Settings, at now: Timestamp
    ) -> RunHeader {
        var header = RunHeader(job, mode: job.mode, started: now, settings: settings)
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
                .owed
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

    /// What a report keeps of it.
    var inShort: CallForecast {
        var calls: [String: Int] = [:]
        for line in lines {
            if let expected = line.expected { calls[line.endpoint, default: 0] += expected }
        }
        return CallForecast(
            questions: questions.questions.values.reduce(0, +), calls: calls,
            milliseconds: lines.allSatisfy { $0.expected != nil } ? milliseconds : nil)
    }
}
