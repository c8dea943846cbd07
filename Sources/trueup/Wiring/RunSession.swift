import AppStoreServerAPI
import Dispatch
import EventDelivery
import FoundationEssentials
import Glibc
import Logging
import Reconciliation
import ReconciliationRun
import Reports
import ServerConnections
import SubscriptionStore
import Subscriptions

/// Performs a prepared run: opens what it needs, in order, and closes it again on every path.
struct RunSession {
    let run: PreparedRun
    let common: CommonOptions
    let invocation: Invocation

    /// - Returns: How the run ended.
    /// - Throws: What kept it from beginning, or its report from being written.
    func perform() async throws -> ExitStatus {
        var connections: [AppConnection] = []
        var notifier: Notifier = (nil, nil)
        let pings = RunPings(of: run)
        // Where the ledger of the run is, once it may write corrections.
        var ledger: SQLiteStore?
        let stop = StopRequest()
        let ending: Result<FinishedReport, any Error>
        var shown: Result<Void, any Error> = .success(())
        do {
            for app in run.askedApps {
                connections.append(try AppConnection(app, environment: invocation.environment))
            }
            notifier = self.notifier()
            let report: FinishedReport
            (report, shown) = try await perform(over: connections, notifier, &ledger, until: stop)
            ending = .success(report)
        } catch StoreError.stopped(let words) {
            ending = .failure(CommandFailure(stop.exitStatus, words))
        } catch {
            ending = .failure(error)
        }
        for connection in connections { await connection.shutdown() }
        await notifier.events?.shutdown()
        let message = message(of: ending, writtenIn: ledger)
        for problem in await pings.end(isWell: run.isWell(message.status)) { warn(problem) }
        await send(message)
        _ = try ending.get()
        try shown.get()
        return message.status
    }

    private func perform(
        over connections: [AppConnection], _ notifier: Notifier, _ ledger: inout SQLiteStore?,
        until stop: StopRequest
    ) async throws -> (FinishedReport, shown: Result<Void, any Error>) {
        let settings = run.settings
        let runID = run.header.runID

        let terminal = invocation.progressLine(isQuiet: common.quiet)
        let teller = ServerWaitTeller(to: terminal, now: invocation.now)
        defer { withExtendedLifetime(teller) {} }

        // The lock, and the database under it.
        let holder = RunningUser.lockHolder(doing: run.description)
        let since = invocation.now()
        let lock = try RunLock.acquire(
            forDatabaseAt: settings.databasePath, holder: holder, now: since, waitMilliseconds: 0)
        let books = try Books(settings, holder: holder)
        // The run that has the folder keeps the books: they are not adopted by a run that cannot begin.
        if books.place != nil {
            try ReportFolder.refuse(settings.reportDirectory, for: nil, at: since)
        }
        defer { books.release() }
        try bring(books, upToDateUnder: lock, telling: terminal)
        let holding = Task { await books.renewUntilCancelled() }
        defer { holding.cancel() }
        CallNotes(besideDatabaseAt: settings.databasePath).prepare()
        let start = try CompanyStart(for: run, holder: holder)
        defer { start.end() }
        let workers = start.workers
        let working = Task { await workers?.renewUntilCancelled() }
        defer {
            working.cancel()
            workers?.end()
        }
        let calls = start.calls
        let store = try books.openToWrite(naming: eventNaming, company: start.link)
        let signals = SignalWatch(stop: stop) { terminal.say($0) }

        // The report folder, and what is told of the run while it is active.
        let database = ReportingDatabase(
            identity: try store.databaseIdentity(), path: settings.booksURL)
        let claim = try ReportFolderClaim.take(
            settings.reportDirectory, for: database, holder: holder)
        var folder = try ReportFolder.begin(
            in: settings.reportDirectory, runID: runID, started: run.header.started)
        let sink = try RunLog.Sink(path: folder.logPath)
        defer { sink.close() }
        let logger = logger(writingTo: sink)
        start.logMessages(to: logger, ofRun: runID)
        start.obeyLimits(of: run, until: stop, telling: terminal, logger: logger)
        let live = live(holder: holder, since: since)
        let control = control(of: live, telling: terminal, logger)
        let watch = watch(of: live, over: terminal, under: control, in: store, and: calls.shared)
        let watching = Task { await watch.watchUntilCancelled() }
        defer {
            watching.cancel()
            watch.end()
        }
        let hooks = RunHooks(
            of: run, environment: invocation.environment, stop: stop, logger: logger)
        let refusal = await hooks.before()

        // The company's own table, and what the books lack.
        try await recordReportsPublished(in: store)
        let company = try await readCompanyTable(
            start, unless: refusal, into: store, at: since, until: stop, telling: terminal)
        let missing = try store.missingReports(in: settings.reportDirectory)
        folder.earlierManifest = missing?.manifest
        var gaps = [company.notice, missing?.notice].compactMap(\.self)
        // What the books lack may only be to be adopted from the company's ledger.
        if company.obstacle == nil {
            let restoration = Restoration(
                settings: settings, holder: holder, invocation: invocation)
            if let notice = try restoration.notice(of: store) { gaps.insert(notice, at: 0) }
            try await restoration.lookAtEveryRowAgain(in: store)
        }
        for gap in gaps + [company.fault?.description].compactMap(\.self) { warn(gap) }
        for gap in gaps { logger.warning("run.warning", metadata: ["notice": "\(gap)"]) }

        // The run itself, and its report.
        var job = run.job
        // A store program has said by now which columns it keeps.
        job.policy.keep(as: start.link?.mapping)
        job.policy.kept.precision = store.companyPrecision
        job.policy.kept.leftOut.formUnion(try store.columnsNotStored())
        let purchases = start.link?.mapping.purchases
        job.policy.keepsPurchases = try purchases != nil || store.keepsPurchases()
        // Beside a table of the company's own, purchases that no mapping names are a copy that it imports.
        job.policy.writesPurchases = settings.company.table == nil || purchases != nil
        job.commands?.report = folder.publishedPath
        job.remarks += gaps + [notifier.obstacle, calls.remark].compactMap(\.self)
        job.remarks += CompanySettings.remarks(after: company.refresh, by: start.link?.mapping)
        job.obstacle = company.obstacle
        job.policy.restoredAt = try store.newestRestore()
        if company.obstacle == nil { job.forecast = try await forecast(in: store) }
        let pacing = PacingReport(logger: logger, terminal: terminal, now: invocation.now)
        let peaks = QuotaPeaks()
        let requests = try await requests(
            over: connections, store: store, and: calls.shared, noting: peaks,
            hear: pacing, obeying: control)
        let appStores = try appStores(over: connections, asking: requests, store: store)
        let review = review(by: hooks, in: store, database, draft: folder.draftPath)
        try await store.reportIsAwaited(ofRun: runID)
        await noteBeginning(in: start.register)
        ledger = store
        let reconciler = try await Reconciler(
            job: job, header: run.header, appStores: appStores, store: store, clock: run.clock,
            stop: stop, logger: logger, progress: terminal.show,
            remarks: { hooks.remarks + control.remarks + store.companyRemarks },
            effort: { peaks.effort(waiting: pacing.waitedMilliseconds) },
            reviewPlan: review)
        let conclusion = try await reconciler.run()
        for requests in requests { await requests.end() }
        terminal.clear()
        watch.reportBegins()
        control.callsEnded()
        sink.close()
        let report: FinishedReport
        do {
            report = try await publish(folder, database, from: store, telling: terminal)
            terminal.clear()
        } catch {
            await leaveMetrics(
                ofRunWithout: error, waits: pacing.waitedMilliseconds, store: store,
                and: calls.shared)
            throw error
        }
        signals.end()

        // The report is published: nothing that comes after it changes how the run ended.
        await note(report, in: start.register)
        await leaveMetrics(
            of: report.summary, waits: pacing.waitedMilliseconds, store: store, and: calls.shared)
        await deleteWhatIsPastItsRetention(in: store)
        // Before the lock is free: the next run tells under the same name.
        watch.end()
        _ = consume claim
        _ = consume lock
        // Before a hook and deliveries, which a signal may end. Not under the lock: the output may be a
        // pipe that is not read.
        let shown = Result {
            try show(report)
            try invocation.output.flush()
        }
        if let problem = await hooks.after(report) { warn(problem) }
        await notify(by: notifier, from: store, after: conclusion.exitStatus)
        return (report, shown)
    }

    /// Books on a server may be large: reading them counts for `max_duration` as well.
    private func bring(
        _ books: Books, upToDateUnder lock: borrowing RunLock, telling terminal: ProgressLine
    ) throws {
        let deadline = run.clock.deadline
        defer { terminal.clear() }
        do throws(StoreError) {
            try books.bringUpToDate(under: lock) { rows in
                terminal.show(RunProgress(stage: .books, done: Int(clamping: rows)))
                return ContinuousClock.now < deadline
            }
        } catch .stopped(let words) {
            throw CommandFailure(.incomplete, words)
        }
    }

    /// Writes the report of the run that has ended.
    private func publish(
        _ folder: ReportFolder, _ database: ReportingDatabase, from store: SQLiteStore,
        telling terminal: ProgressLine
    ) async throws -> FinishedReport {
        let runID = run.header.runID
        let folders = run.settings.reportDirectory
        var context = reportContext(database: database)
        try await store.keepReportContext(
            try context.text(ofReportsIn: folders), ofRun: runID)
        let report = try await onBackgroundThread { [folder, context, clock = run.clock] in
            let record = try WatchedRecord(try store.runRecord(ofRun: runID), terminal.show)
            return try folder.finish(record, context: context) {
                try store.noteEnd(ofRun: runID, at: clock.now())
            }
        }
        context.manifest = report.manifestDigest
        try await store.keepReportContext(
            try context.text(ofReportsIn: folders), ofRun: runID)
        try await store.reportWasPublished(ofRun: runID)
        return report
    }

    /// The review of the plan by the job's program; `nil` where it has none.
    private func review(
        by hooks: RunHooks, in store: SQLiteStore, _ database: ReportingDatabase, draft: String
    ) -> PlanReview? {
        guard hooks.reviewsPlans else { return nil }
        let context = reportContext(database: database)
        let header = run.header
        return { seal in
            try await onBackgroundThread {
                try store.runRecord(ofRun: header.runID, isGoingOn: true)
                    .writePlan(of: header, seal: seal, context: context, toFileAt: draft)
            }
            defer { _ = unsafe unlink(draft) }
            return await hooks.review(planInFileAt: draft)
        }
    }

    /// Catches up for a run that was killed between publishing its report and recording that.
    private func recordReportsPublished(in store: SQLiteStore) async throws {
        for earlier in try store.awaitedReports()
        where ReportFolder.isPublished(earlier, in: run.settings.reportDirectory) {
            try await store.reportWasPublished(ofRun: earlier)
        }
    }

    /// Returns the expected effort of the run, for the report to compare with the real one.
    private func forecast(in store: SQLiteStore) async throws -> CallForecast? {
        guard let job = run.forecastedJob else { return nil }
        return try await RunForecast(
            of: job, settings: run.settings, at: run.header.started, in: store
        ).inShort
    }

    private func logger(writingTo sink: RunLog.Sink) -> Logger {
        let echo: RunLog.Echo? = common.verbose ? (common.logFormat, writeToStandardError) : nil
        let logger = Logger(label: "trueup") { [clock = run.clock] _ in
            RunLog(sink: sink, now: clock.now, echo: echo)
        }
        if let notice = run.trustedRoots.notice {
            logger.notice("run.notice", metadata: ["notice": "\(notice)"])
        }
        return logger
    }

    /// The calls about each app; they share its quota with every process on this database.
    private func requests(
        over connections: [AppConnection], store: SQLiteStore, and calls: SharedCalls?,
        noting peaks: QuotaPeaks, hear: PacingReport, obeying control: RunControl
    ) async throws -> [PacedRequests] {
        var requests: [PacedRequests] = []
        for connection in connections {
            requests.append(
                try await connection.requests(
                    by: RunClock(now: invocation.now, deadline: run.clock.deadline),
                    maxOutage: run.maxOutage, sharingQuotaIn: store, and: calls, noting: peaks,
                    hear: hear.tell, order: { control.paceOrder }))
        }
        return requests
    }

    private func appStores(
        over connections: [AppConnection], asking requests: [PacedRequests], store: SQLiteStore
    ) throws -> [any AppStore] {
        let revocationAnswers = StoredRevocationAnswers(store: store, now: invocation.now)
        return try zip(connections, requests).map { connection, requests in
            try connection.appStore(
                asking: requests, keeping: revocationAnswers, wallClock: invocation.now)
        }
    }

    private func reportContext(database: ReportingDatabase) -> ReportContext {
        var context = ReportContext(
            of: run.settings, trustedRoots: run.trustedRoots, isPlanOnly: run.job.mode == .check,
            in: database)
        context.retentionMilliseconds = run.settings.retentionMilliseconds
        return context
    }

    private func show(_ report: FinishedReport) throws {
        guard common.json else {
            let isColoured = common.color.applies(
                toTerminal: invocation.outputIsTerminal, environment: invocation.environment)
            let lines = SummaryText.lines(
                report.summary, reportPath: report.path, notice: run.trustedRoots.notice,
                plan: report.plan,
                isColoured: isColoured, columns: invocation.textColumns)
            return try invocation.show(lines: lines, isColoured: isColoured)
        }
        guard let json = FileManager.default.contents(atPath: report.path + "/summary.json") else {
            throw CommandFailure(
                .output,
                "\(report.path)/summary.json cannot be read, so nothing is printed. The report is complete."
            )
        }
        let text = String(decoding: json, as: UTF8.self)
        try invocation.output.write(Array(PlainText.ofJSON(text).utf8))
    }

    private func deleteWhatIsPastItsRetention(in store: SQLiteStore) async {
        do {
            let now = run.clock.now()
            _ = try await store.expireBookkeeping(
                before: now.adding(milliseconds: -run.settings.retentionMilliseconds), at: now)
            for app in run.settings.apps {
                guard let retention = app.evidenceRetentionMilliseconds else { continue }
                let erased = try await store.expireEvidence(
                    of: app.identity, storedBefore: now.adding(milliseconds: -retention), at: now)
                if erased > 0, !common.quiet {
                    invocation.say(
                        "trueup erased \(erased) signed payloads of \(app.identity.bundleID) that are past "
                            + "evidence_retention; their digests stay as tombstones")
                }
            }
        } catch {
            warn(
                "Evidence past its retention was not erased: \(ErrorReport(error).message) The next run "
                    + "tries again.")
        }
    }
}

/// Runs work of seconds, on files or on the database, outside the few threads that tasks share.
func onBackgroundThread<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async {
            continuation.resume(with: Result(catching: work))
        }
    }
}

/// Writes from any thread, unbuffered; the streams of an `Invocation` may be used by one at a time.
@Sendable func writeToStandardError(_ text: String) {
    let bytes = Array(text.utf8)
    _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

extension Invocation {
    /// The line that shows how far a command is.
    func progressLine(isQuiet: Bool) -> ProgressLine {
        ProgressLine(
            isTerminal: diagnosticsAreTerminal, isQuiet: isQuiet, now: now,
            columns: { Self.terminalColumns(of: STDERR_FILENO) ?? 80 },
            write: writeToStandardError)
    }
}

/// Notices for those who watch the run: people at a terminal during the run, machines once its
/// report is published or has failed.
///
/// None of it fails the run.
extension RunSession {
    /// Leaves the figures of a whole run where the settings say.
    func leaveMetrics(
        of summary: RunSummary, waits: [String: Int64], store: SQLiteStore, and calls: SharedCalls?
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
                "The metrics of this run were not written: \(ErrorReport(error).message). The file still "
                    + "has those of the run before, if any. Correct metrics.directory.")
        }
    }

    /// Notes where all workers see it that the run has begun.
    ///
    /// Its report is the proof: a note that cannot be left keeps no run from its own.
    func noteBeginning(in register: WorkerRuns?) async {
        guard let register else { return }
        let header = run.header
        do {
            try await onBackgroundThread { try register.begins(header) }
        } catch {
            warn("Other workers cannot see that this run began: \(ErrorReport(error).message)")
        }
    }

    /// Notes the run where all workers see it.
    func note(_ report: FinishedReport, in register: WorkerRuns?) async {
        guard let register else { return }
        let first = run.clock.now().adding(milliseconds: -run.settings.retentionMilliseconds)
        do {
            try await onBackgroundThread {
                try register.ended(report, forgettingBefore: first)
            }
        } catch {
            warn(
                "Other workers cannot see how this run ended: \(ErrorReport(error).message) Its report "
                    + "is complete.")
        }
    }

    /// Leaves the figures of a run that ended, and whose report could not be written or shown: with
    /// the exit status of the process, which the books state as well, where there is no report.
    func leaveMetrics(
        ofRunWithout error: any Error, waits: [String: Int64], store: SQLiteStore,
        and calls: SharedCalls?
    ) async {
        let report = ErrorReport(error)
        let runID = run.header.runID
        if !ReportFolder.isPublished(runID, in: run.settings.reportDirectory) {
            // Where this fails as well, the next run notes it.
            try? await store.reportIsMissing(ofRun: runID, because: report.message)
        }
        guard var summary = try? store.runRecord(ofRun: runID).summary() else { return }
        summary.conclusion.statuses = [report.status]
        await leaveMetrics(of: summary, waits: waits, store: store, and: calls)
    }

    private func standing(
        after summary: RunSummary, waits: [String: Int64], in store: SQLiteStore,
        and calls: SharedCalls?
    ) async throws -> RunMetrics.Standing {
        let overview = try store.overview(runs: 0)
        var standing = RunMetrics.Standing()
        standing.lastSuccess = try await store.lastSuccess(
            like: summary.header, mayBeEmpty: run.isWell(.empty))
        // Other apps of these books have a run and a file of their own, or are configured no more.
        let apps = summary.header.apps
        let own = try await store.pendingAndOldestCheck(of: apps)
        standing.watermarks = overview.watermarks.filter { apps.contains($0.key) }
        standing.oldestCheck = own.oldestCheck
        standing.pending = summary.header.isForAppsAlone ? own.pending : overview.pending
        standing.waitedMilliseconds = waits
        let use = HourlyUse(of: run.askedApps, in: store, and: calls, now: invocation.now) { app in
            QuotaRates.documented(environment: app.identity.environment, share: 1)
        }
        // The other figures are not deferred where the server cannot be asked.
        standing.quota = ((try? await use.read()) ?? []).map {
            CallEffort.Peak(
                bundleID: $0.app.bundleID, environment: $0.app.environment.rawValue,
                endpoint: $0.endpoint, calls: $0.calls, limit: $0.limit)
        }
        return standing
    }

    /// Returns the watch that shows other terminals how far this run is.
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

    /// Returns the control that takes the orders that people give this run.
    func control(of live: LiveRun, telling terminal: ProgressLine, _ logger: Logger) -> RunControl {
        RunControl(
            file: RunOrdersFile(besideDatabaseAt: run.settings.databasePath), run: live,
            resumption: common.command("resume", live.job), terminal: terminal, logger: logger,
            now: invocation.now)
    }
}

/// Notifies the configured receiver, once the run's report is published.
///
/// None of it fails the run: an event that was not delivered waits for the next one.
extension RunSession {
    /// The notifier of this run, and the obstacle that keeps it from notifying, with what to do.
    ///
    /// Neither is there for a check, which has nothing to say, and where no receiver is configured.
    typealias Notifier = (events: EventNotifier?, obstacle: String?)

    /// How corrections are named as events; `nil` when no events are sent.
    var eventNaming: EventNaming? {
        guard run.job.mode == .apply, let settings = run.settings.notify else { return nil }
        return EventNaming(of: settings.events)
    }

    func notifier() -> Notifier {
        guard run.job.mode == .apply, let settings = run.settings.notify else {
            return (nil, nil)
        }
        do {
            return (
                try EventNotifier(settings, isVerbose: common.verbose, in: invocation), nil
            )
        } catch {
            return (
                nil,
                "The events of this run's corrections are not delivered: "
                    + "\(ErrorReport(error).message). They stay in the queue. Fix the cause, then run "
                    + "\"trueup tell\"."
            )
        }
    }

    /// Delivers what is due, and says in one line how it went.
    func notify(by notifier: Notifier, from store: SQLiteStore, after status: ExitStatus) async {
        if let obstacle = notifier.obstacle { warn(obstacle) }
        let isStopped = [.hungUp, .interrupted, .terminated].contains(status)
        guard let events = notifier.events, !isStopped else { return }
        do {
            let summary = try await events.deliver(
                from: store, at: run.settings.databasePath, budget: EventNotifier.budgetOfRun,
                now: run.clock.now, lockPatienceMilliseconds: 0)
            guard let sentence = summary.sentence else { return }
            let needsAttention = summary.totals.waiting > 0 || summary.totals.givenUp > 0
            if needsAttention || !common.quiet {
                say(sentence, level: needsAttention ? "warning" : "info")
            }
        } catch RunLockError.held {
            // The other process delivers what this run left as well.
            if !common.quiet { say("Another process delivers the events.", level: "info") }
        } catch {
            warn(
                "The events were not delivered: \(ErrorReport(error).message) They wait for the next run."
            )
        }
    }

    /// Reports what failed apart from the run itself.
    func warn(_ sentence: String) { say(sentence, level: "warning") }

    private func say(_ sentence: String, level: String) {
        guard common.logFormat == .json else {
            return invocation.say((level == "warning" ? "warning: " : "") + sentence)
        }
        invocation.say(
            json: .object([
                "time": .time(run.clock.now()), "level": .string(level),
                "message": .string(sentence),
            ]))
    }
}
