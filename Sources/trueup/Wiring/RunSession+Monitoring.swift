import AppStoreServerAPI
import FoundationEssentials
import Glibc
import Reports
import SubscriptionStore
import Subscriptions

/// What machines that watch the job are told, once the run's report is published.
///
/// None of it fails the run.
extension RunSession {
    /// Leaves the figures of a whole run where the settings say.
    func leaveMetrics(of summary: RunSummary, waits: WaitingTime, store: SQLiteStore) async {
        guard let directory = run.settings.metricsDirectory, run.isWholeRun else { return }
        do {
            let metrics = RunMetrics(
                summary, try await standing(after: summary, waits: waits, in: store))
            try MetricsFile.write(metrics.text, in: directory, job: summary.header.job)
        } catch {
            warn(
                "the metrics were not written: \(ErrorReport(error).message). Those of the run before "
                    + "stand, if any; mend metrics.directory")
        }
    }

    private func standing(
        after summary: RunSummary, waits: WaitingTime, in store: SQLiteStore
    ) async throws -> RunMetrics.Standing {
        let overview = try store.overview(runs: 0)
        var standing = RunMetrics.Standing()
        standing.lastSuccess = try await store.lastSuccess(
            ofJob: summary.header.job, mode: summary.header.mode)
        standing.watermarks = overview.watermarks
        standing.oldestCheck = overview.oldestCheck
        standing.owed = overview.owed
        standing.waitedMilliseconds = waits.byReason
        for app in run.askedApps {
            let limits = QuotaRates.documented(environment: app.identity.environment, share: 1)
            for endpoint in Endpoint.allCases {
                let calls = try await store.bookedCalls(
                    of: QuotaAccount(app: app.identity, endpoint: endpoint.rawValue),
                    at: invocation.now())
                guard calls > 0 else { continue }
                standing.quota.append(
                    RunMetrics.QuotaUse(
                        app: app.identity, endpoint: endpoint.rawValue, calls: calls,
                        limit: limits.perHour(of: endpoint)))
            }
        }
        return standing
    }

    /// What tells other terminals how far this run is.
    func watch(over terminal: ProgressLine, holder: String, since: Timestamp) -> RunWatch {
        RunWatch(
            database: run.settings.databasePath,
            run: LiveRun(
                holder: holder, since: since, process: getpid(), runID: run.header.runID,
                job: run.header.job, writtenAt: since),
            terminal: terminal, now: invocation.now)
    }
}
