import FoundationEssentials
import Reconciliation
import ReconciliationRun
import Subscriptions

/// A run that asks and judges nothing: it works off a plan or takes an earlier run back.
struct PlannedRun {
    let settings: Settings
    let common: CommonOptions
    let invocation: Invocation

    func apply(_ plan: PlanSeal, guards: GuardOptions) async throws -> ExitStatus {
        let job = try jobSettings(of: plan.head.job)
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
            policy: Policy(now: started, apps: settings.identities), guards: settingsOfJob.guards,
            recover: RecoverSettings())
        job.planSource = source
        job.policy.reportOnlyFields = settingsOfJob.reportOnlyFields
        job.liftedGuards = try guards?.liftedGuards() ?? [:]
        job.canary = guards?.canary
        let deadline = ContinuousClock.now + .milliseconds(job.maxDurationMilliseconds)
        var header = RunHeader(
            runID: RunName.make(started: started), job: name, mode: .apply, started: started,
            apps: settings.identities, actor: RunningUser.actor, toolVersion: ToolVersion.current,
            settingsDigest: SettingsDigest.of(
                settings, settingsOfJob, mode: .apply, narrowing: narrowing + told),
            narrowing: narrowing)
        header.coversEveryRow = false
        let run = ReportedRun(
            settings: settings, job: job, header: header,
            clock: RunClock(now: invocation.now, deadline: deadline), common: common,
            invocation: invocation, description: name)
        // Only a canary's second look asks anything of Apple; without one no key is needed.
        guard job.canary != nil else { return try await run.perform(asking: []) }
        let revocationAnswers = RevocationAnswers(now: invocation.now)
        let connections = try settings.apps.map { app in
            try AppConnection(
                app, environment: invocation.environment, deadline: deadline,
                revocationAnswers: revocationAnswers, wallClock: invocation.now)
        }
        let status = try await run.perform(
            asking: connections.map(\.appStore), keeping: revocationAnswers)
        for connection in connections { await connection.shutdown() }
        return status
    }

    /// The job that the plan was made by, for its guards; the defaults where it is gone.
    private func jobSettings(of name: String) throws -> JobSettings {
        let file = SettingsPath.resolve("jobs/\(name).yaml", from: settings.directory)
        guard FileManager.default.fileExists(atPath: file) else {
            return JobSettings(name: name, file: file)
        }
        return try JobSettings.load(file, beside: settings)
    }
}
