import Reconciliation
import ReconciliationRun
import Subscriptions

/// One `run` or `check`, from settings to exit status.
struct JobRun {
    let options: RunOptions
    /// `nil` for a command that has nothing to let through.
    let guards: GuardOptions?
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
        if let guards, guards.isUsed, mode == .check {
            throw CommandFailure(
                .usage,
                "--lift-guard and --canary are for jobs that write; \(jobSettings.file) says mode: "
                    + "check")
        }
        let job = try reconciliationJob(jobSettings, mode: mode, settings: settings)
        let clock = try runClock(settings: settings, job: job)
        let header = runHeader(settings, jobSettings, mode: mode, started: clock.now())
        let revocationAnswers = RevocationAnswers(now: invocation.now)
        let outages = OutageBoard()
        let connections = try settings.apps.map { app in
            try AppConnection(
                app, environment: invocation.environment, deadline: clock.deadline,
                maxOutage: .milliseconds(jobSettings.maxOutageMilliseconds), outages: outages,
                revocationAnswers: revocationAnswers, wallClock: invocation.now)
        }
        let run = ReportedRun(
            settings: settings, job: job, header: header, clock: clock, common: common,
            invocation: invocation,
            description: (forcedMode == .check ? "check " : "run ") + jobSettings.name)
        let status = try await run.perform(
            asking: connections.map(\.appStore), keeping: revocationAnswers, hearing: outages)
        for connection in connections { await connection.shutdown() }
        return status
    }
}
