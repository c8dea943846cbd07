import AppStoreServerAPI
import FoundationEssentials
import Glibc
import Logging
import PostgresDatabase
import ReconciliationRun
import Reports
import SubscriptionStore
import Subscriptions

/// What whoever watches the run is told: people at a terminal while it goes on, machines once its report is
/// published or has failed.
///
/// None of it fails the run.
extension RunSession {
    /// The line that shows how far the run is.
    func terminal() -> ProgressLine {
        ProgressLine(
            isTerminal: invocation.diagnosticsAreTerminal, isQuiet: common.quiet,
            now: invocation.now, columns: Self.terminalColumns, write: writeToStandardError)
    }

    @Sendable private static func terminalColumns() -> Int {
        Invocation.terminalColumns(of: STDERR_FILENO) ?? 80
    }

    /// Leaves the figures of a whole run where the settings say.
    func leaveMetrics(
        of summary: RunSummary, waits: WaitingTime, store: SQLiteStore, and calls: SharedCalls?
    ) async {
        guard let directory = run.settings.metricsDirectory, run.isWholeRun else { return }
        do {
            let metrics = RunMetrics(
                summary, try await standing(after: summary, waits: waits, in: store, and: calls))
            try MetricsFile.write(
                metrics.text, in: directory, job: summary.header.job,
                apps: summary.header.appsAlone)
        } catch {
            warn(
                "the metrics were not written: \(ErrorReport(error).message). Those of the run before "
                    + "stand, if any; mend metrics.directory")
        }
    }

    /// Notes where all workers see it that the run has begun.
    ///
    /// Its report is the proof: a note that cannot be left keeps no run from its own.
    func noteBeginning(in register: WorkerRuns?) async {
        guard let register else { return }
        let header = run.header
        do {
            try await offTheCooperativeThreads { try register.begins(header) }
        } catch {
            warn("other workers do not see that this run began: \(ErrorReport(error).message)")
        }
    }

    /// Notes the run where all workers see it.
    func note(_ report: FinishedReport, in register: WorkerRuns?) async {
        guard let register else { return }
        let first = run.clock.now().adding(milliseconds: -run.settings.retentionMilliseconds)
        do {
            try await offTheCooperativeThreads {
                try register.ended(report, forgettingBefore: first)
            }
        } catch {
            warn(
                "other workers do not see how this run ended: \(ErrorReport(error).message) Its "
                    + "report is complete.")
        }
    }

    /// Leaves the figures of a run that ended, and whose report could not be written or shown: with
    /// the exit status of the process, which the books state, too, where there is no report.
    func leaveMetrics(
        ofRunWithout error: any Error, waits: WaitingTime, store: SQLiteStore,
        and calls: SharedCalls?
    ) async {
        let report = ErrorReport(error)
        let runID = run.header.runID
        if !ReportFolder.isPublished(runID, in: run.settings.reportDirectory) {
            // Where this fails, too, the next run notes it.
            try? await store.reportIsMissing(ofRun: runID, because: report.message)
        }
        guard var summary = try? store.runRecord(ofRun: runID).summary() else { return }
        summary.conclusion.statuses = [report.status]
        await leaveMetrics(of: summary, waits: waits, store: store, and: calls)
    }

    /// What people are told of the run, also where it left no report.
    func message(of ending: Result<FinishedReport, any Error>, _ begun: BegunRun) -> RunMessage {
        switch ending {
        case .success(let report):
            return RunMessage(
                report.summary, reportPath: FileSystemFacts.realPath(report.path),
                link: run.settings.message.link)
        case .failure(let error):
            let report = ErrorReport(error)
            return RunMessage(
                ofJob: run.header.job, on: run.header.host, endedWith: report.status,
                reason: report.message,
                apps: run.isWholeRun ? run.header.appsAlone : [],
                unfinished: begun.account(
                    of: run.header, inOwnTable: run.settings.company.table != nil,
                    shownBy: common.command("undo", run.header.runID)),
                nextCommand: common.command("doctor"))
        }
    }

    /// Tells people of a whole run, of all apps or of a worker's; of others somebody knows who gave the command.
    func send(_ message: RunMessage) async {
        guard run.isWholeRun else { return }
        let messenger = RunMessenger(run.settings, in: invocation)
        for problem in await messenger.send(message, isWell: run.isWell(message.status)) {
            warn(problem)
        }
    }

    private func standing(
        after summary: RunSummary, waits: WaitingTime, in store: SQLiteStore,
        and calls: SharedCalls?
    ) async throws -> RunMetrics.Standing {
        let overview = try store.overview(runs: 0)
        var standing = RunMetrics.Standing()
        standing.lastSuccess = try await store.lastSuccess(
            like: summary.header, mayBeEmpty: run.isWell(.empty))
        standing.watermarks = overview.watermarks
        standing.oldestCheck = overview.oldestCheck
        standing.owed = overview.owed
        if summary.header.isForAppsAlone {
            // Other apps of these books have a night and a file of their own.
            let apps = summary.header.apps
            standing.watermarks = overview.watermarks.filter { apps.contains($0.key) }
            (standing.owed, standing.oldestCheck) = try await store.owedAndOldestCheck(of: apps)
        }
        standing.waitedMilliseconds = waits.byReason
        let use = HourlyUse(of: run.askedApps, in: store, and: calls, now: invocation.now) { app in
            QuotaRates.documented(environment: app.identity.environment, share: 1)
        }
        // The other figures are not held back where the server cannot be asked.
        standing.quota = ((try? await use.read()) ?? []).map {
            RunMetrics.QuotaUse(
                app: $0.app, endpoint: $0.endpoint, calls: $0.calls, limit: $0.limit)
        }
        return standing
    }

    /// What tells other terminals how far this run is.
    func watch(
        of live: LiveRun, over terminal: ProgressLine, under control: RunControl,
        in store: SQLiteStore, and calls: SharedCalls?
    ) -> RunWatch {
        let use = HourlyUse(
            of: run.askedApps, in: store, and: calls, now: invocation.now,
            against: QuotaRates.allowed)
        return RunWatch(
            database: run.settings.databasePath, run: live, control: control, terminal: terminal,
            now: invocation.now, quota: { (try? await use.read()) ?? [] })
    }

    /// Who this run is, for other terminals.
    func live(holder: String, since: Timestamp) -> LiveRun {
        LiveRun(
            holder: holder, since: since, process: getpid(), runID: run.header.runID,
            job: run.header.job, writtenAt: since)
    }

    /// What takes the orders that people give this run.
    func control(of live: LiveRun, telling terminal: ProgressLine, _ logger: Logger) -> RunControl {
        RunControl(
            file: RunOrdersFile(besideDatabaseAt: run.settings.databasePath), run: live,
            resumption: common.command("resume", live.job), terminal: terminal, logger: logger,
            now: invocation.now)
    }
}
