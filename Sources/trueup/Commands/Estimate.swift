package import ArgumentParser
import SubscriptionStore
package import Subscriptions

/// `trueup estimate JOB`: what a run would ask, and what that takes, before anything is asked.
package struct Estimate: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Forecast a run: rows, questions by reason, calls, time and share of the quota.",
        discussion: """
            Reads the database by the same scan as the run and changes nothing; makes no call to \
            Apple and needs no key. What only Apple's answers tell, such as how many pages of \
            notifications there are, is taken from the job's last runs, or said to be unknown. Where \
            your own table was restored behind the books, as a run would find it, ends with 78.
            """)

    @Argument(
        help: ArgumentHelp(
            "The job: jobs/JOB.yaml beside the settings, or a path.", valueName: "job"),
        completion: .jobs)
    package var job: String

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Forecast as if it were this time (RFC 3339); for loopback endpoints only.",
            valueName: "time"))
    package var now: TimeOption?

    @OptionGroup package var scope: AppScope

    @OptionGroup(title: "For every command") package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        let apps = try scope.apps(among: settings.apps)
        let job = try JobSettings.load(job, beside: settings)
        let now = try invocation.clock(startingAt: now, settings: settings)()
        let store = try Books(settings).openToRead(at: invocation.now())
        let ledger = await CompanyLedgerLook.look(
            at: settings.company, beside: store, at: settings.databasePath)
        // What no run would begin with is not worth a forecast.
        if case .lacksEntries(let problem) = ledger { throw StoreError.schema(problem) }
        let forecast = try await RunForecast(
            of: job, settings: settings, apps: apps, at: now, in: store)
        let report = EstimateReport(
            job: job, forecast: forecast, copy: try settings.company.copy(in: store),
            companyLedger: ledger)
        guard !common.json else {
            try invocation.show(json: report.json)
            return .ok
        }
        try invocation.show(text: report.text)
        return .ok
    }
}
