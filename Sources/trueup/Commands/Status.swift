package import ArgumentParser
import SubscriptionStore
package import Subscriptions

/// `trueup status`: what there is, how old it is, and whether a run is going on.
package struct Status: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Show the last runs, the age of the coverage, open findings and a running job.",
        discussion: "Reads the database and changes nothing.")

    /// The newest runs that are listed.
    private static let listedRuns = 10
    /// The newest runs of other workers.
    private static let listedWorkers = 50

    @OptionGroup(title: "For every command") package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        let books = try Books(settings)
        let store = try books.openToRead(at: invocation.now())
        let others = await OtherWorkers.lastRuns(
            of: settings, besides: try store.databaseIdentity(), limit: Self.listedWorkers)
        let here = SQLiteStore.lockHolder(ofDatabaseAt: settings.databasePath).map { lock in
            let live = LiveRunFile(besideDatabaseAt: settings.databasePath).read(heldBy: lock)
            return StatusReport.Running(
                holder: lock.holder, since: lock.since, live: live,
                resumption: live.map { common.command("resume", $0.job) })
        }
        let elsewhere = try books.holderElsewhere().map {
            StatusReport.Running(holder: $0.holder, since: $0.since)
        }
        var report = StatusReport(
            overview: try store.overview(runs: Self.listedRuns, at: invocation.now()),
            running: here ?? elsewhere, apps: settings.identities, now: invocation.now(),
            copy: try settings.company.copy(in: store), others: others.runs, gap: others.gap)
        report.columns = invocation.textColumns
        guard !common.json else {
            try invocation.show(json: report.json)
            return .ok
        }
        try invocation.show(text: report.text)
        return .ok
    }
}
