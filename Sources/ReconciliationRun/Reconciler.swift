package import Logging
import Reconciliation
package import SubscriptionStore
package import Subscriptions

/// One run of a job, from opening its checkpoint to its conclusion.
///
/// The pipeline, left to right; nothing calls back:
///
///     open pass ─▶ recover ─▶ walk ─▶ guard ─▶ canary ─▶ apply ─▶ find causes ─▶ conclude
///
/// A run that applies an earlier plan, or reverts a run, adopts those corrections instead of
/// recovering and walking; the rest is the same. *recover* and *walk* only ask, check and stage;
/// *guard* checks the whole plan; *canary*, if requested, writes a few rows and checks them
/// again; *apply* writes the others. Each stage leaves a checkpoint, so a run that is killed at any
/// time is continued by the next run of the same job.
package struct Reconciler: Sendable {
    private let context: RunContext
    private let remarks: @Sendable () -> [String]
    private let effort: @Sendable () -> CallEffort?

    /// Opens a checkpoint, or resumes the unfinished one; Apple is not asked yet.
    ///
    /// - Throws: `StoreError` if the checkpoint cannot be opened; then no run has begun.
    package init(
        job: ReconciliationJob, header: RunHeader, appStores: [any AppStore],
        store: SQLiteStore, clock: RunClock, stop: StopRequest, logger: Logger,
        progress: @escaping @Sendable (RunProgress) -> Void = { _ in },
        remarks: @escaping @Sendable () -> [String] = { [] },
        effort: @escaping @Sendable () -> CallEffort? = { nil },
        reviewPlan: PlanReview? = nil
    ) async throws(StoreError) {
        let pass = try await store.begin(header) { done, total in
            progress(RunProgress(stage: .entitlements, done: done, total: total))
        }
        let refusals = AppRefusals(apps: appStores.map(\.app).filter(job.filters.includes))
        // The limit also stops the calls, so a lifted guard must not do that either.
        let maxVerificationFailures =
            job.liftedGuards[.maxVerificationFailures] == nil
            ? job.guards.maxVerificationFailures : .max
        context = RunContext(
            job: job, header: header, pass: pass,
            appStores: Dictionary(
                keepingFirst: appStores.map {
                    ($0.app, RefusableAppStore(store: $0, refusals: refusals))
                }),
            store: store, clock: clock, stop: stop,
            tally: AnswerTally(maxVerificationFailures: maxVerificationFailures),
            refusals: refusals, logger: logger, progress: progress, reviewPlan: reviewPlan)
        self.remarks = remarks
        self.effort = effort
    }

    /// Runs the job to its conclusion, which is stored and returned.
    ///
    /// - Throws: `StoreError` only where not even the conclusion could be stored; then there is
    ///   nothing to report from.
    package func run() async throws(StoreError) -> RunConclusion {
        let pass = context.pass
        context.log(
            "run.begin", ["pass": "\(pass.passID)", "resumed_from": "\(pass.resumedFrom ?? "")"])
        var ending = Ending()
        ending.incompleteReadings = pass.unreportedShortfalls
        do {
            // Also where nothing can be written: the report of such a run holds the plan that is
            // left.
            if case .plan(let plan) = job.planSource {
                context.log("plan.take_up", ["plan": "\(plan)"])
                try await store.stagePlan(plan, in: context.pass, run: header)
            }
            if let obstacle = job.obstacle { throw obstacle }
            switch job.planSource {
            case .judgement: try await ask(noting: &ending)
            case .plan: break
            case .undo(let runID): ending.undo = try await revert(runID)
            }
        } catch {
            ending.ended(RunEnd(thrown: error), by: context.stop)
        }
        if ending.end.allowsApplying {
            do {
                ending.plan = try await ApplyStep(
                    context: context, mayAsk: ending.end == .completed
                ).run()
                ending.end = ending.plan.canary?.end ?? ending.end
            } catch {
                ending.ended(RunEnd(thrown: error), by: context.stop)
            }
        }
        do throws(StoreError) {
            return try await conclude(ending)
        } catch {
            // What stopped the run says more than that its end could not be written down either.
            guard case .store(let first) = ending.end else { throw error }
            throw first
        }
    }

    /// The results of the stages, for the conclusion.
    private struct Ending {
        var end = RunEnd.completed
        var plan = PlanOutcome()
        var incompleteReadings: [String] = []
        /// How many notifications the histories held; `nil` where none was read to its end.
        var notifications: Int?
        /// Apps whose notification history was read and held nothing.
        var silentApps: [AppIdentity] = []
        /// How many entries of a history did not verify, where any did not.
        var unverifiedEntries: [AppIdentity: Int] = [:]
        /// The counts of reverting a run; `nil` in other runs.
        var undo: UndoCounts?
        /// The question whose answer a signal ended the wait for.
        var unanswered: String?

        /// A wait for a database that a signal ended is the signal's end, not the database's.
        mutating func ended(_ end: RunEnd, by stop: StopRequest) {
            switch (end, stop.signal) {
            case (.store(.stopped(let words)), let signal?),
                (.stop(.store(.stopped(let words))), let signal?):
                self.end = .signal(signal)
                unanswered = words
            default: self.end = end
            }
        }
    }

    private var job: ReconciliationJob { context.job }
    private var header: RunHeader { context.header }
    private var appStores: [AppIdentity: any AppStore] { context.appStores }
    private var store: SQLiteStore { context.store }

    private func ask(noting ending: inout Ending) async throws {
        try await context.askKnownAnswers()
        var recovered: [AppIdentity: RecoverStep.Outcome] = [:]
        // Incomplete readings are reported however the asking ends.
        defer {
            ending.incompleteReadings += recovered.sorted { $0.key < $1.key }.compactMap(
                \.value.shortfall)
            let counts = recovered.values.compactMap(\.notifications)
            ending.notifications = counts.isEmpty ? nil : counts.reduce(0, +)
            ending.unverifiedEntries = recovered.mapValues(\.unverifiable).filter { $0.value > 0 }
            ending.silentApps = recovered.filter { $0.value.notifications == 0 }.keys.sorted()
        }
        // A part of the rows says nothing about a whole history, so a partial run reads none.
        if job.steps.contains(.recover), !job.filters.leavesOutRows {
            for app in appStores.keys.sorted() where job.filters.includes(app) {
                context.log("recover.begin", ["app": "\(app.bundleID)"])
                recovered[app] = try await RecoverStep(context: context, app: app).run()
            }
        }
        let walks = job.steps.contains(.walk)
        let asking = walks ? try await context.withUnconfiguredApps() : context
        var limit = job.filters.limit
        if !job.filters.leavesOutRows {
            try await QueueStep(context: asking, part: .pending, held: true).run(limit: &limit)
        }
        if walks {
            try await askAboutRows(in: asking, limit: &limit)
            // Before missing subscriptions are settled: these answers may show that they are held.
            try await asking.askAgain()
            try await context.readRefunds()
        }
        for app in appStores.keys.sorted() where recovered[app]?.mayComeLater == true {
            // An endpoint that failed delayed the walk only for the attempts of one call, and may
            // work again now.
            context.log("recover.again", ["app": "\(app.bundleID)"])
            recovered[app] = try await RecoverStep(context: context, app: app).run()
            try await QueueStep(context: asking, part: .pending, held: true).run(limit: &limit)
        }
        if !job.filters.leavesOutRows {
            try await QueueStep(context: asking, part: .pending, held: false).run(limit: &limit)
        }
        try await context.askAgain()
        if let verdict = context.tally.verdict { throw verdict }
    }

    /// Asks about the rows that are due, or about every row.
    private func askAboutRows(
        in context: RunContext, limit: inout Int?
    ) async throws {
        // Rows that the command names are checked, whether or not they are due.
        guard case .delta(let settings) = job.coverage, job.filters.ids == nil else {
            context.log("walk.begin")
            return try await WalkStep(context: context).run()
        }
        let counts = try await context.schedule(settings)
        let total = counts.due.values.reduce(0, +)
        if job.filters.leavesOutRows {
            try await QueueStep(context: context, part: .pending, held: true).run(limit: &limit)
        }
        try await QueueStep(context: context, part: .due, held: true, total: total)
            .run(limit: &limit)
    }

    private func revert(_ runID: String) async throws -> UndoCounts {
        let counts = try await store.stageUndo(ofRun: runID, in: context.pass, run: header)
        context.log(
            "undo.take_up",
            ["undo_of": "\(runID)", "ready": "\(counts.ready)", "conflicts": "\(counts.conflicts)"])
        return counts
    }

    private func conclude(_ ending: Ending) async throws(StoreError) -> RunConclusion {
        let calls = appStores.keys.sorted().flatMap { appStores[$0]?.callCounts() ?? [] }
        let judges = job.planSource == .judgement
        if judges, job.steps.contains(.walk), header.leavesOutNothingOfItsApps {
            try await store.carryOpenFindings(in: context.pass, run: header)
        }
        await context.scheduleWhatIsLeft(after: ending.end)
        let coverage = judges ? try await coverage() : nil
        let plan = try await store.planTotals(of: context.pass)
        var decision = ExitDecision(
            end: ending.end,
            appleAnswered: context.tally.appleAnswered(calls: calls.map(\.calls).reduce(0, +)),
            totals: plan.totals,
            walks: job.steps.contains(.walk),
            unresolved: job.failsOnNewAlone
                ? try await store.newFindings(of: context.pass)
                : try await store.unresolvedFindings(of: context.pass),
            failOn: job.failOn,
            plan: ending.plan, mode: job.mode, job: job.name, runID: header.runID,
            incompleteReadings: ending.incompleteReadings
                + [
                    context.tally.unfinishedHistories(
                        ofRowsBefore: context.pass.resumedFrom == nil ? 0 : plan.lackingHistory)
                ].compactMap(\.self))
        decision.givenCommands = job.commands
        decision.changes = plan.changes
        decision.doubtful = plan.doubtful
        decision.lastFailure = context.tally.lastFailure
        decision.suspectedSettings = context.tally.suspectedSettings
        decision.refusedApps = context.refusals.reasons
        decision.coveredRows = coverage?.rows
        decision.holdsPurchases = job.policy.keepsPurchases && !job.filters.leavesOutRows
        decision.roundBefore = coverage?.roundBefore
        decision.notifications = ending.notifications
        if plan.changes > 0 { decision.silentApps = ending.silentApps }
        if job.mode == .apply { decision.unverifiedEntries = ending.unverifiedEntries }
        if ending.end != .completed {
            decision.unreached =
                try await store.unreachedRows(in: context.pass, run: header)
                + plan.totals.undecided[.deadline, default: 0]
        }
        if job.planSource != .judgement {
            decision.planned = PlannedEnding(
                source: job.planSource,
                unwritten: try await store.unwritten(of: context.pass, now: context.clock.now()),
                undo: ending.undo)
        }
        let causes = try await context.findCauses()
        var conclusion = RunConclusion(
            ended: context.clock.now(), statuses: decision.statuses,
            messages: decision.messages + [ending.unanswered].compactMap(\.self) + remarks()
                + job.remarks
                + appStores.keys.sorted().flatMap { appStores[$0]?.remarks() ?? [] },
            limits: limits(of: ending), calls: Self.summed(calls),
            closesPass: !ending.end.leavesPassOpen && ending.plan.canary?.leavesPassOpen != true,
            settlesUnreached: ending.end != .completed)
        conclusion.unreachedReason = ending.end.reasonOfUnreached
        conclusion.refusedApps = Set(context.refusals.reasons.keys)
        conclusion.endsRound = ending.end == .completed || decision.unreached == 0
        conclusion.acceptedTableRows = ending.plan.acceptedTableRows
        conclusion.causes = causes
        conclusion.effort = effort()
        conclusion.databasePauses = store.databasePauses
        conclusion.coverage = coverage
        try await store.conclude(
            conclusion, in: context.pass, run: header, ended: context.clock.now
        ) { [progress = context.progress] done, total in
            progress(RunProgress(stage: .conclude, done: done, total: total))
        }
        context.log("run.end", ["exit_status": "\(conclusion.exitStatus.code)"])
        return conclusion
    }

    /// The questions and their reasons, and what they say about the rows that were not checked.
    private func coverage() async throws(StoreError) -> RunCoverage {
        let kind: RunCoverage.Kind = if case .delta = job.coverage { .delta } else { .full }
        var coverage = try await store.coverage(
            kind: kind, in: context.pass, run: header)
        coverage.forecast = job.forecast
        if let sample = coverage.sample, let quiet = coverage.quiet {
            coverage.sample?.bound =
                RemainingRisk(
                    population: quiet, drawn: sample.drawn, differing: sample.unproven
                ).bound
        }
        return coverage
    }

    private func limits(of ending: Ending) -> [String] {
        var reached = ending.plan.breaches.map { "guard \($0.name.rawValue)" }
        if case .differs = ending.plan.canary { reached.append("guard canary") }
        if case .refused = ending.end { reached.append("guard hooks.before") }
        if ending.end == .deadline { reached.append("max_duration") }
        if case .stop(.quotaWaitPastDeadline) = ending.end { reached.append("quota") }
        return reached
    }

    private static func summed(_ calls: [CallCount]) -> [CallCount] {
        Dictionary(grouping: calls) { [$0.endpoint, $0.result] }
            .map { key, counts in
                CallCount(
                    endpoint: key[0], result: key[1], calls: counts.map(\.calls).reduce(0, +))
            }
            .sorted { ($0.endpoint, $0.result) < ($1.endpoint, $1.result) }
    }
}
