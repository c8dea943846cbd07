import Dispatch
import FoundationEssentials
import Glibc
import Logging
import Reconciliation
import ReconciliationRun
import Reports
import SubscriptionStore
import Subscriptions

/// One `run` or `check`, from settings to exit status: the only place that knows every part.
struct JobRun {
    let options: RunOptions
    let common: CommonOptions
    /// `check` writes nothing, whatever the job says.
    let forcedMode: RunMode?
    let invocation: Invocation

    func perform() async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        var jobSettings = try JobSettings.load(options.job, beside: settings)
        if let milliseconds = try options.maxDurationMilliseconds() {
            jobSettings.maxDurationMilliseconds = milliseconds
        }
        let mode = forcedMode ?? jobSettings.mode
        let job = try reconciliationJob(jobSettings, mode: mode, settings: settings)
        let clock = try runClock(settings: settings, job: job)
        var header = runHeader(settings, jobSettings, mode: mode, started: clock.now())
        let connections = try settings.apps.map { app in
            try AppConnection(
                app, environment: invocation.environment, deadline: clock.deadline,
                wallClock: invocation.now)
        }
        // A ledger entry of a narrowed run, or one that rests on another root, says so for ever.
        let roots = connections.flatMap(\.reportedRoots).uniqued()
        let notices = header.narrowing + [roots.notice].compactMap(\.self)
        if !notices.isEmpty { header.actor += " (\(notices.joined(separator: "; ")))" }
        let lock = try RunLock.acquire(
            forDatabaseAt: settings.databasePath,
            holder: RunningUser.lockHolder(
                doing: (forcedMode == .check ? "check " : "run ") + jobSettings.name),
            now: invocation.now(), waitMilliseconds: 0)
        let store = try SQLiteStore.open(at: settings.databasePath, access: .readWrite)
        let folder = try ReportFolder.begin(
            in: settings.reportDirectory, runID: header.runID, started: header.started)
        let status = try await run(
            job, header: header, clock: clock, connections: connections, store: store,
            folder: folder)
        for connection in connections { await connection.shutdown() }
        // Held to the very end: the report belongs to the run.
        _ = consume lock
        return status
    }

    private func run(
        _ job: ReconciliationJob, header: RunHeader, clock: RunClock, connections: [AppConnection],
        store: SQLiteStore, folder: ReportFolder
    ) async throws -> ExitStatus {
        guard let sink = RunLog.Sink(path: folder.logPath) else {
            throw CommandFailure(.cannotCreate, "cannot write \(folder.logPath)")
        }
        let stop = StopRequest()
        let progress = ProgressLine(
            isTerminal: invocation.diagnosticsAreTerminal && !common.quiet, write: Self.tell)
        let isQuiet = common.quiet
        let watch = SignalWatch(stop: stop) { text in
            progress.finish()
            if !isQuiet { Self.tell("trueup: \(text)\n") }
        }
        let echo = common.verbose ? RunLog.Echo(format: common.logFormat, write: Self.tell) : nil
        let logger = Logger(label: "trueup") { _ in
            RunLog(sink: sink, now: clock.now, echo: echo)
        }
        if let notice = connections.flatMap(\.reportedRoots).uniqued().notice {
            logger.notice("run.notice", metadata: ["notice": "\(notice)"])
        }
        let reconciler = Reconciler(
            job: job, header: header, appStores: connections.map(\.appStore), store: store,
            clock: clock, stop: stop, logger: logger,
            progress: { if !isQuiet { progress.tell($0) } })
        try await store.reportIsAwaited(ofRun: header.runID)
        let conclusion = try await reconciler.run()
        progress.finish()
        sink.close()
        let context = ReportContext(
            toolVersion: ToolVersion.current, apps: connections.map(\.reportedApp),
            trustedRoots: connections.flatMap(\.reportedRoots).uniqued(),
            isPlanOnly: job.mode == .check)
        let report = try await Self.offTheCooperativeThreads {
            try folder.finish(try store.runRecord(ofRun: header.runID), context: context)
        }
        try await store.reportWasPublished(ofRun: header.runID)
        try show(report, notice: context.trustedRoots.notice)
        withExtendedLifetime(watch) {}
        return conclusion.exitStatus
    }

    private func show(_ report: FinishedReport, notice: String?) throws {
        guard common.json else {
            let isColoured = common.color.applies(
                toTerminal: invocation.outputIsTerminal, environment: invocation.environment)
            let text = SummaryText.render(
                report.summary, reportPath: report.path, notice: notice, isColoured: isColoured)
            return try invocation.output.write(Array(text.utf8))
        }
        guard let json = FileManager.default.contents(atPath: report.path + "/summary.json") else {
            throw CommandFailure(.output, "cannot read \(report.path)/summary.json")
        }
        try invocation.output.write(Array(json))
    }

    /// Report and database work of seconds must not sit on the few threads that tasks share.
    private static func offTheCooperativeThreads<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result(catching: work))
            }
        }
    }

    private static func tell(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
