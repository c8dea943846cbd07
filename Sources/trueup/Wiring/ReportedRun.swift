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
    var job: ReconciliationJob
    var header: RunHeader
    let clock: RunClock
    let common: CommonOptions
    let invocation: Invocation
    /// What the lock says is going on, such as `run nightly`.
    let description: String

    /// Runs the job under the lock, and publishes its report.
    ///
    /// - Parameters:
    ///   - appStores: Whom the run may ask; none for a run that asks nothing.
    ///   - revocationAnswers: Kept in the database from the moment that it is open.
    ///   - outages: Read as soon as there is a log.
    /// - Returns: How the run ended.
    /// - Throws: What kept it from beginning, or its report from being written.
    func perform(
        asking appStores: [any AppStore], keeping revocationAnswers: RevocationAnswers? = nil,
        hearing outages: OutageBoard? = nil
    ) async throws -> ExitStatus {
        let trust = try settings.apps.map(AppTrust.init)
        // A ledger entry of a narrowed run, or one that rests on another root, says so for ever.
        var marked = self
        let roots = trust.flatMap(\.reportedRoots).uniqued()
        let notices = header.narrowing + [roots.notice].compactMap(\.self)
        if !notices.isEmpty { marked.header.actor += " (\(notices.joined(separator: "; ")))" }
        return try await marked.perform(
            asking: appStores, trust: trust, keeping: revocationAnswers, hearing: outages)
    }

    private func perform(
        asking appStores: [any AppStore], trust: [AppTrust],
        keeping revocationAnswers: RevocationAnswers?, hearing outages: OutageBoard?
    ) async throws -> ExitStatus {
        // Telling fails alone: whoever is not told tonight is told when the secret is back.
        let telling: Telling = telling()
        let lock = try RunLock.acquire(
            forDatabaseAt: settings.databasePath,
            holder: RunningUser.lockHolder(doing: description), now: invocation.now(),
            waitMilliseconds: 0)
        try SQLiteStore.bringUpToDate(at: settings.databasePath, under: lock)
        let store = try SQLiteStore.open(
            at: settings.databasePath, access: .readWrite,
            naming: job.mode == .apply ? settings.tell?.naming : nil)
        revocationAnswers?.open(store)
        let database = ReportingDatabase(
            identity: try store.databaseIdentity(), path: settings.databasePath)
        let claim = try ReportFolderClaim.take(
            settings.reportDirectory, for: database,
            holder: RunningUser.lockHolder(doing: description))
        let folder = try ReportFolder.begin(
            in: settings.reportDirectory, runID: header.runID, started: header.started)
        for earlier in try store.awaitedReports()
        where ReportFolder.isPublished(earlier, in: settings.reportDirectory) {
            try await store.reportWasPublished(ofRun: earlier)
        }
        var run = self
        let gap = try Restoration(
            settings: settings, holder: RunningUser.lockHolder(doing: description),
            invocation: invocation
        ).notice(of: store)
        if let gap { warn(gap) }
        run.job.remarks += [gap, telling.obstacle].compactMap(\.self)
        let status = try await run.run(
            asking: appStores, trust: trust, store: store, folder: folder, hearing: outages,
            warning: gap)
        // The report stands: nothing that comes after it changes how the run ended.
        do {
            try await expireEvidence(in: store)
        } catch {
            warn("evidence past its retention was not erased; the next run tries again: \(error)")
        }
        // Held to the very end: the report belongs to the run.
        _ = consume claim
        _ = consume lock
        if let obstacle = telling.obstacle { warn(obstacle) }
        if let telling = telling.means, ![.interrupted, .terminated].contains(status) {
            await tellOthers(by: telling, from: store)
        }
        return status
    }

    private func run(
        asking appStores: [any AppStore], trust: [AppTrust], store: SQLiteStore,
        folder: ReportFolder, hearing outages: OutageBoard?, warning: String?
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
        outages?.open(log: logger) { sentence in
            progress.finish()
            if !isQuiet { Self.tell("trueup: \(sentence)\n") }
        }
        let notice = trust.flatMap(\.reportedRoots).uniqued().notice
        if let notice { logger.notice("run.notice", metadata: ["notice": "\(notice)"]) }
        if let warning { logger.warning("run.warning", metadata: ["notice": "\(warning)"]) }
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
            isPlanOnly: job.mode == .check, database: try store.databaseIdentity())
        let report = try await Self.offTheCooperativeThreads { [runID = header.runID] in
            try folder.finish(try store.runRecord(ofRun: runID), context: context)
        }
        try await store.reportWasPublished(ofRun: header.runID)
        try show(report, notice: notice)
        withExtendedLifetime(watch) {}
        return conclusion.exitStatus
    }

    /// Turns payloads that are past their app's retention into tombstones.
    private func expireEvidence(in store: SQLiteStore) async throws {
        let now = clock.now()
        _ = try await store.expireBookkeeping(
            before: now.adding(milliseconds: -settings.retentionMilliseconds), at: now)
        for app in settings.apps {
            guard let retention = app.evidenceRetentionMilliseconds else { continue }
            let erased = try await store.expireEvidence(
                of: app.identity, storedBefore: now.adding(milliseconds: -retention), at: now)
            if erased > 0, !common.quiet {
                invocation.say(
                    "trueup: \(erased) signed payloads of \(app.identity.bundleID) are past "
                        + "evidence_retention; their digests stay as tombstones")
            }
        }
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
    static func offTheCooperativeThreads<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result(catching: work))
            }
        }
    }

    static func tell(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
