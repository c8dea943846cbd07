import Reconciliation
import ReconciliationRun
import Subscriptions
import Testing
import trueup

@Suite struct `A job file` {
    private func job(_ yaml: String) throws -> JobSettings {
        try JobSettings(yaml: yaml, file: "conf/jobs/nightly.yaml")
    }

    private func refusal(_ yaml: String) -> ConfigurationError? {
        do throws(ConfigurationError) {
            _ = try JobSettings(yaml: yaml, file: "conf/jobs/nightly.yaml")
            return nil
        } catch {
            return error
        }
    }

    @Test func `with nothing at all is refused, and does not call steps required`() {
        let error = refusal("\n")
        #expect(error?.problem == "the file is empty")
        #expect(error?.key == nil && error?.line == 1)
    }

    @Test func `without any key is a job with the contract's defaults`() throws {
        let job = try job("# nothing but a comment\n")
        #expect(job.name == "nightly")
        #expect(job.steps == [.recover, .walk])
        #expect(job.mode == .apply)
        #expect(job.coverage == .delta)
        #expect(job.history == .whenNeeded)
        #expect(job.sweepDays == 30)
        #expect(job.purchaseSweepDays == nil)
        #expect(job.sweepEndedDays == 180)
        #expect(job.sample == .rows(1000))
        #expect(job.settleMilliseconds == 900_000)
        #expect(job.maxDurationMilliseconds == 14_400_000)
        #expect(job.maxOutageMilliseconds == 1_800_000)
        #expect(job.failOn == .high)
        #expect(job.failOn.severity == .high)
        #expect(job.notFoundConfirmations == 3)
        #expect(job.recover.overlapMilliseconds == 604_800_000)
        #expect(job.recover.lookbackMilliseconds == 2_592_000_000)
        #expect(job.recover.inbox == .none)
        #expect(job.guards == GuardLimits())
        #expect(job.guards.maxChanges == 500)
        #expect(job.guards.maxChangeShare == 0.05)
        #expect(job.guards.minChanges == 5)
        #expect(job.guards.maxNotFoundShare == 0.01)
        #expect(job.guards.maxVerificationFailures == 10)
        #expect(job.guards.maxSameDirectionShare == 0.3)
        #expect(job.guards.maxShrinkShare == 0.5)
        #expect(job.guards.maxOwnFault == 5)
        #expect(job.reportOnlyFields == ["price", "currency"])
    }

    @Test func `may change every key`() throws {
        let job = try job(
            """
            steps: [walk]
            mode: check
            coverage: full
            history: never
            sweep_days: 1
            sample: 1
            settle: 0s
            max_duration: 30m
            max_outage: 90s
            fail_on: none
            not_found_confirmations: 5
            recover: {overlap: 1d, lookback: 180d, inbox: imported}
            guards:
              max_changes: 1
              max_change_share: 0.5
              min_changes: 0
              max_not_found_share: 1.0
              max_verification_failures: 2
              max_same_direction_share: 0.25
              max_shrink_share: 1
              max_own_fault: none
              max_excluded_share: 0.5
            authority: {status: report-only, expires_date: apple}
            """)
        #expect(job.steps == [.walk])
        #expect(job.mode == .check)
        #expect(job.coverage == .full)
        #expect(job.history == .never)
        #expect(job.sweepDays == 1)
        #expect(job.sample == .rows(1))
        #expect(job.settleMilliseconds == 0)
        #expect(job.maxDurationMilliseconds == 1_800_000)
        #expect(job.maxOutageMilliseconds == 90_000)
        #expect(job.failOn.severity == nil)
        #expect(job.notFoundConfirmations == 5)
        #expect(job.recover.overlapMilliseconds == 86_400_000)
        #expect(job.recover.lookbackMilliseconds == 180 * 86_400_000)
        #expect(job.recover.inbox == .imported)
        #expect(job.guards.maxChanges == 1)
        #expect(job.guards.maxChangeShare == 0.5)
        #expect(job.guards.minChanges == 0)
        #expect(job.guards.maxNotFoundShare == 1)
        #expect(job.guards.maxVerificationFailures == 2)
        #expect(job.guards.maxSameDirectionShare == 0.25)
        #expect(job.guards.maxShrinkShare == 1)
        #expect(job.guards.maxOwnFault == nil)
        #expect(job.guards.maxExcludedShare == 0.5)
        #expect(job.reportOnlyFields == ["price", "currency", "status"])
    }

    static let mistakes: [SettingsMistake] = [
        SettingsMistake(
            "mode: apply\nsettel: 15m\n", line: 2, key: "settel", says: "did you mean \"settle\""),
        SettingsMistake(
            "mode: apply\nmode: check\n", line: 2, key: "mode", says: "is listed twice"),
        SettingsMistake("mode: aply\n", line: 1, key: "mode", says: "did you mean \"apply\""),
        SettingsMistake(
            "history: when_needed\n", line: 1, key: "history", says: "did you mean \"when-needed\""),
        SettingsMistake("coverage: all\n", line: 1, key: "coverage", says: "delta, full"),
        SettingsMistake("fail_on: info\n", line: 1, key: "fail_on", says: "none, low, medium"),
        SettingsMistake(
            "steps: [walk, recover]\n", line: 1, key: "steps", says: "[recover, walk]"),
        SettingsMistake("steps: [walk, walk]\n", line: 1, key: "steps[1]", says: "twice"),
        SettingsMistake("steps: walk\n", line: 1, key: "steps", says: "must be a list"),
        SettingsMistake("steps: []\n", line: 1, key: "steps", says: "empty list"),
        SettingsMistake("steps: [wlak]\n", line: 1, key: "steps[0]", says: "\"walk\""),
        SettingsMistake("settle: 15\n", line: 1, key: "settle", says: "add a unit", "15m"),
        SettingsMistake("settle: 15min\n", line: 1, key: "settle", says: "not a duration"),
        SettingsMistake("settle: -1m\n", line: 1, key: "settle", says: "not a duration"),
        SettingsMistake("settle: 99999999d\n", line: 1, key: "settle", says: "at most 3650d"),
        SettingsMistake("max_duration: 0h\n", line: 1, key: "max_duration", says: "more than"),
        SettingsMistake("sweep_days: 0\n", line: 1, key: "sweep_days", says: "at least 1"),
        SettingsMistake("sweep_days: 7d\n", line: 1, key: "sweep_days", says: "whole number"),
        SettingsMistake("sweep_days: 1.5\n", line: 1, key: "sweep_days", says: "whole number"),
        SettingsMistake("sample: 1.5\n", line: 1, key: "sample", says: "0 to 1", "0.015"),
        SettingsMistake("sample: nan\n", line: 1, key: "sample", says: "0 to 1"),
        SettingsMistake("sample: -0.1\n", line: 1, key: "sample", says: "0 to 1"),
        SettingsMistake(
            "not_found_confirmations: 0\n", line: 1, key: "not_found_confirmations",
            says: "at least 1"),
        SettingsMistake(
            "recover:\n  overlap: 7d\n  look_back: 3d\n", line: 3, key: "recover.look_back",
            says: "did you mean \"lookback\""),
        SettingsMistake("recover: 7d\n", line: 1, key: "recover", says: "keys and values"),
        SettingsMistake(
            "guards:\n  max_changes: many\n", line: 2, key: "guards.max_changes",
            says: "whole number"),
        SettingsMistake(
            "guards:\n  max_own_fault: nobody\n", line: 2, key: "guards.max_own_fault",
            says: "whole number"),
        SettingsMistake(
            "guards:\n  max_shrink_shares: 0.5\n", line: 2, key: "guards.max_shrink_shares",
            says: "did you mean \"max_shrink_share\""),
        SettingsMistake(
            "guards:\n  max_changes: -1\n", line: 2, key: "guards.max_changes",
            says: "whole number"),
        SettingsMistake(
            "guards:\n  max_changes: \"500\"\n", line: 2, key: "guards.max_changes",
            says: "not a text", "without quotes"),
        SettingsMistake(
            "guards:\n  max_change_share: 5%\n", line: 2, key: "guards.max_change_share",
            says: "did you mean 0.05"),
        SettingsMistake(
            "authority:\n  price: apple\n", line: 2, key: "authority.price",
            says: "only ever reported"),
        SettingsMistake(
            "authority:\n  statsu: apple\n", line: 2, key: "authority.statsu",
            says: "did you mean \"status\""),
        SettingsMistake(
            "authority:\n  status: ours\n", line: 2, key: "authority.status",
            says: "apple, report-only"),
    ]

    @Test(arguments: mistakes)
    func `is refused with line, key and suggestion`(mistake: SettingsMistake) throws {
        let error = try #require(refusal(mistake.yaml), "it was accepted")
        #expect(error.file == "conf/jobs/nightly.yaml")
        #expect(error.line == mistake.line)
        #expect(error.key == mistake.key)
        for text in mistake.says { #expect(error.description.contains(text), "\(error)") }
        #expect(error.status == .config)
    }
}

/// The job file of a stored plan, as `trueup apply` reads it.
@Suite struct `The job file of a plan` {
    private let folder: TemporaryFolder
    private let settings: Settings
    private let plan: PlanHead

    init() throws {
        folder = try TemporaryFolder()
        settings = try SettingsText.settings(SettingsText.production)
        var plan = PlanHead(database: "d", plannedBy: "r", job: "nightly", scope: [])
        plan.jobFile = folder.path + "/jobs/nightly.yaml"
        plan.guards = "max_changes=7"
        self.plan = plan
    }

    private func write(_ text: String, mode: Int = 0o600) throws {
        _ = try folder.write(text, to: "jobs/nightly.yaml", mode: mode)
    }

    @Test func `has its hooks and times as they are now, and the guards of the plan`() throws {
        try write("hooks: {after_plan: [/bin/true]}\nsettle: 0s\nguards: {max_changes: 500}\n")
        let (job, remark) = try JobSettings.ofPlan(plan, beside: settings)
        #expect(job.hooks.afterPlan == ["/bin/true"])
        #expect(job.settleMilliseconds == 0)
        #expect(job.guards.maxChanges == 7)
        #expect(remark == nil)
    }

    @Test(arguments: [
        ("hoks: {after_plan: [/bin/true]}\n", 0o600), ("", 0o600), ("settle: [\n", 0o600),
        ("settle: 0s\n", 0o666),
    ])
    func `is refused if it is there and wrong, so that no hook is left out`(
        text: String, mode: Int
    ) throws {
        try write(text, mode: mode)
        let error = #expect(throws: ConfigurationError.self) {
            _ = try JobSettings.ofPlan(plan, beside: settings)
        }
        #expect(error?.status == .config)
        #expect(error?.file == plan.jobFile)
    }

    @Test func `is looked for beside the settings if they moved together`() throws {
        try write("hooks: {after_plan: [/bin/true]}\n")
        var plan = plan
        plan.jobFile = folder.path + "/before/jobs/nightly.yaml"
        let moved = try Settings(
            yaml: SettingsText.production, file: folder.path + "/trueup.yaml", environment: [:])
        let (job, remark) = try JobSettings.ofPlan(plan, beside: moved)
        #expect(job.hooks.afterPlan == ["/bin/true"])
        #expect(remark == nil)
    }

    @Test func `has defaults and a remark if it is gone`() throws {
        let (job, remark) = try JobSettings.ofPlan(plan, beside: settings)
        #expect(job.hooks.afterPlan.isEmpty)
        #expect(job.guards.maxChanges == 7)
        let said = try #require(remark)
        #expect(said.contains("nightly.yaml is gone, so this run started no hooks"), "\(said)")
    }
}

@Suite struct `A duration` {
    @Test(arguments: [
        ("0s", 0), ("30s", 30_000), ("15m", 900_000), ("4h", 14_400_000), ("7d", 604_800_000),
        ("3650d", 315_360_000_000),
    ])
    func `is a whole number and a unit`(text: String, milliseconds: Int64) {
        #expect(DurationText(text)?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "m", "15", "15 m", "1.5h", "-1m", "+1m", "15M", "1h30m", "3651d", "٣m",
        "99999999999999999999s", "9223372036854775807d",
    ])
    func `is nothing else`(text: String) {
        #expect(DurationText(text) == nil)
    }
}
