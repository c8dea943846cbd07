import Reconciliation
import ReconciliationRun
import SubscriptionStore
import Subscriptions

/// A run that asks and judges nothing: it works off a plan or takes an earlier run back.
struct PlannedRun {
    let settings: Settings
    let common: CommonOptions
    let invocation: Invocation

    func apply(_ plan: PlanSeal, guards: GuardOptions) async throws -> ExitStatus {
        let job = jobSettings(of: plan.head)
        return try await perform(
            .plan(plan.sha256), name: "apply \(plan.head.job)", limitedBy: job,
            narrowing: plan.head.scope, told: ["plan \(plan.sha256)"], guards: guards)
    }

    func undo(_ runID: String) async throws -> ExitStatus {
        try await perform(
            .undo(ofRun: runID), name: "undo \(runID)",
            limitedBy: JobSettings(name: "undo", file: ""), narrowing: [],
            told: ["undo \(runID)"])
    }

    /// `told` is what else the run was told: only the same is continued after a kill.
    private func perform(
        _ source: PlanSource, name: String, limitedBy settingsOfJob: JobSettings,
        narrowing: [String], told: [String], guards: GuardOptions? = nil
    ) async throws -> ExitStatus {
        let started = invocation.now()
        var job = ReconciliationJob(
            name: name, steps: [], mode: .apply, failOn: nil,
            maxDurationMilliseconds: settingsOfJob.maxDurationMilliseconds,
            policy: Policy(settingsOfJob, now: started, apps: settings.identities),
            guards: settingsOfJob.guards, recover: RecoverSettings(settingsOfJob.recover))
        job.planSource = source
        job.liftedGuards = try guards?.liftedGuards() ?? [:]
        job.canary = guards?.canary
        let deadline = ContinuousClock.now + .milliseconds(job.maxDurationMilliseconds)
        var header = RunHeader(
            runID: RunName.make(started: started), job: name, mode: .apply, started: started,
            apps: settings.identities, actor: RunningUser.actor, toolVersion: ToolVersion.current,
            settingsDigest: SettingsDigest.of(
                settings, settingsOfJob, mode: .apply, narrowing: narrowing + told),
            narrowing: narrowing, notFoundConfirmations: settingsOfJob.notFoundConfirmations)
        header.coversEveryRow = false
        let run = ReportedRun(
            settings: settings, job: job, header: header,
            clock: RunClock(now: invocation.now, deadline: deadline), common: common,
            invocation: invocation, description: name)
        // Only a canary's second look asks anything of Apple; without one no key is needed.
        guard try job.canary != nil || goesOnWithCanary(header) else {
            return try await run.perform(asking: [])
        }
        let revocationAnswers = RevocationAnswers(now: invocation.now)
        let outages = OutageBoard()
        let connections = try settings.apps.map { app in
            try AppConnection(
                app, environment: invocation.environment, deadline: deadline,
                maxOutage: .milliseconds(settingsOfJob.maxOutageMilliseconds), outages: outages,
                revocationAnswers: revocationAnswers, wallClock: invocation.now)
        }
        let status = try await run.perform(
            asking: connections.map(\.appStore), keeping: revocationAnswers, hearing: outages)
        for connection in connections { await connection.shutdown() }
        return status
    }

    /// Whether an earlier run wrote its canary and could not judge it: this one looks at it again.
    private func goesOnWithCanary(_ header: RunHeader) throws -> Bool {
        try SQLiteStore.open(at: settings.databasePath, access: .readOnly)
            .hasUnfinishedCanary(for: header)
    }

    /// The job that the plan was made by: its guards are those of then, which the database keeps; the
    /// rest is as its file says now, or as by default where that is gone or cannot be read.
    private func jobSettings(of plan: PlanHead) -> JobSettings {
        let file =
            plan.jobFile
            ?? SettingsPath.resolve("jobs/\(plan.job).yaml", from: settings.directory)
        var job =
            (try? JobSettings.load(file, beside: settings))
            ?? JobSettings(name: plan.job, file: file)
        if let guards = plan.guards { job.guards = GuardLimits(text: guards) }
        return job
    }
}
