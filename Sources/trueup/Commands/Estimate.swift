package import ArgumentParser
import Reconciliation
import SubscriptionStore
package import Subscriptions

/// `trueup estimate JOB`: what a run would ask, and what that takes, before anything is asked.
package struct Estimate: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Forecast a run: rows, questions by reason, calls, time and share of the quota.",
        discussion: """
            Reads the database by the same scan as the run and changes nothing; makes no call to \
            Apple and needs no key. What only Apple's answers tell, such as how many pages of \
            notifications there are, is taken from the job's last runs, or said to be unknown.
            """)

    @Argument(
        help: ArgumentHelp(
            "The job: jobs/JOB.yaml beside the settings, or a path.", valueName: "job"))
    package var job: String

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Forecast as if it were this time (RFC 3339); for loopback endpoints only.",
            valueName: "time"))
    package var now: TimeOption?

    @OptionGroup package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        let job = try JobSettings.load(job, beside: settings)
        let now = try invocation.clock(startingAt: now, settings: settings)()
        let store = try SQLiteStore.open(at: settings.databasePath, access: .readOnly)
        let table = try await store.rowsByApp()
        var policy = Policy(
            now: now, apps: settings.identities, settleMilliseconds: job.settleMilliseconds,
            notFoundConfirmations: job.notFoundConfirmations, history: job.history,
            reportOnlyFields: job.reportOnlyFields)
        policy.strayBundles = strayBundles(among: table, apps: settings.identities)
        let forecast = RunForecast(
            try Self.questions(of: job, policy, in: store), job: job, apps: settings.apps,
            rows: table)
        let report = EstimateReport(job: job, forecast: forecast)
        try invocation.output.line(common.json ? report.json.rendered : report.text)
        return .ok
    }

    private static func questions(
        of job: JobSettings, _ policy: Policy, in store: SQLiteStore
    ) throws -> QuestionForecast {
        // No run draws by this seed: which rows a run draws follows from its id.
        let request = ScheduleRequest(
            now: policy.now, sweepMilliseconds: Int64(job.sweepDays) * Milliseconds.perDay,
            sweepEndedMilliseconds: Int64(job.sweepEndedDays) * Milliseconds.perDay,
            sample: job.sample, seed: 0)
        let scope: ForecastScope =
            if !job.steps.contains(.walk) {
                .owed
            } else if job.coverage == .delta {
                .delta(request)
            } else {
                .full(isRound: job.mode == .apply)
            }
        return try store.forecast(
            of: scope, job: job.name, apps: policy.apps,
            level: { sweepLevel(rowsByDaysLeft: $0) },
            due: { dueReason(of: $0, sweeping: $1, request) },
            place: { row in
                if let why = exclusion(of: row, policy: policy) { return .excluded(why) }
                return appToAsk(about: row, policy: policy).map { .asked($0) }
                    ?? .excluded(.appNotConfigured)
            })
    }
}
