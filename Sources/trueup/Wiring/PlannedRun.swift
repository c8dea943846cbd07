import FoundationEssentials
import Reconciliation
import ReconciliationRun
import Subscriptions

/// A run that asks and judges nothing: it works off a plan or takes an earlier run back.
struct PlannedRun {
    let settings: Settings
    let common: CommonOptions
    let invocation: Invocation

    func apply(_ plan: PlanSeal) async throws -> ExitStatus {
        let job = try jobSettings(of: plan.head.job)
        return try await perform(
            .plan(plan.sha256), name: "apply \(plan.head.job)", limitedBy: job,
            narrowing: plan.head.scope, told: ["plan \(plan.sha256)"])
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
        narrowing: [String], told: [String]
    ) async throws -> ExitStatus {
        let started = invocation.now()
        var job = ReconciliationJob(
            name: name, steps: [], mode: .apply, failOn: nil,
            maxDurationMilliseconds: settingsOfJob.maxDurationMilliseconds,
            policy: Policy(now: started, apps: settings.identities), guards: settingsOfJob.guards,
            recover: RecoverSettings())
        job.planSource = source
        var header = RunHeader(
            runID: RunName.make(started: started), job: name, mode: .apply, started: started,
            apps: settings.identities, actor: RunningUser.actor, toolVersion: ToolVersion.current,
            settingsDigest: SettingsDigest.of(
                settings, settingsOfJob, mode: .apply, narrowing: narrowing + told),
            narrowing: narrowing)
        header.coversEveryRow = false
        return try await ReportedRun(
            settings: settings, job: job, header: header,
            clock: RunClock(
                now: invocation.now,
                deadline: .now + .milliseconds(settingsOfJob.maxDurationMilliseconds)),
            common: common, invocation: invocation, description: name
        ).perform(asking: [])
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
