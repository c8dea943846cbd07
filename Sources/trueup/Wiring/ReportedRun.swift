import Dispatch
import FoundationEssentials
import Glibc
import Logging
import ReconciliationRun
import Reports
import SubscriptionStore
import Subscriptions

/// A run with everything around it: lock, database, report folder, log, signals and report.
struct ReportedRun {
    let settings: Settings
    let job: ReconciliationJob
    let header: RunHeader
    let clock: RunClock
    let common: CommonOptions
    let invocation: Invocation
    /// What the lock says is going on, such as `run nightly`.
    let description: String

    /// Runs to the end: `appStores` are whom it may ask, none for a run that asks nothing.
    func perform(asking appStores: [any AppStore]) async throws -> ExitStatus {
        let trust = try settings.apps.map(AppTrust.init)
        let lock = try RunLock.acquire(
            forDatabaseAt: settings.databasePath,
            holder: RunningUser.lockHolder(doing: description), now: invocation.now(),
            waitMilliseconds: 0)
        let store = try SQLiteStore.open(at: settings.databasePath, access: .readWrite)
        let folder = try ReportFolder.begin(
            in: settings.reportDirectory, runID: header.runID, started: header.started)
        let status = try await run(asking: appStores, trust: trust, store: store, folder: folder)
        // Held to the very end: the report belongs to the run.
        _ = consume lock
        return status
    }

    private func run(
        asking appStores: [any AppStore], trust: [AppTrust], store: SQLiteStore,
        folder: ReportFolder
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
        let reconciler = Reconciler(
            job: job, header: header, appStores: appStores, store: store, clock: clock,
            stop: stop, logger: logger, progress: { if !isQuiet { progress.tell($0) } })
        try await store.reportIsAwaited(ofRun: header.runID)
        let conclusion = try await reconciler.run()
        progress.finish()
        sink.close()
        let context = ReportContext(
            toolVersion: ToolVersion.current, apps: trust.map(\.reportedApp),
            trustedRoots: trust.flatMap(\.reportedRoots).uniqued(),
            isPlanOnly: job.mode == .check)
        let report = try await Self.offTheCooperativeThreads { [runID = header.runID] in
            try folder.finish(try store.runRecord(ofRun: runID), context: context)
        }
        try await store.reportWasPublished(ofRun: header.runID)
        try show(report)
        withExtendedLifetime(watch) {}
        return conclusion.exitStatus
    }

    private func show(_ report: FinishedReport) throws {
        guard common.json else {
            let isColoured = common.color.applies(
                toTerminal: invocation.outputIsTerminal, environment: invocation.environment)
            let text = SummaryText.render(
                report.summary, reportPath: report.path, isColoured: isColoured)
            return try invocation.output.write(Array(text.utf8))
        }
        guard let json = FileManager.default.contents(atPath: report.path + "/summary.json") else {
            throw CommandFailure(.output, "cannot read \(report.path)/summary.json")
        }
        try invocation.output.write(Array(json))
    }

    /// Report and database work of seconds must not sit on the few threads that tasks share.
    static func offTheCooperativeThreads<Value: Sendable>(
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
