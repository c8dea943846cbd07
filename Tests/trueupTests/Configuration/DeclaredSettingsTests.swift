import Reconciliation
import ReconciliationRun
import Subscriptions
import Testing
import trueup

@Suite struct `Every declared setting` {
    /// The keys of the contract; others may be added.
    static let contract = [
        "apps.bundle_id", "apps.app_apple_id", "apps.environment", "apps.issuer_id", "apps.key_id",
        "apps.key_file", "apps.key_env", "apps.quota_share", "apps.requests_per_second",
        "apps.endpoint", "apps.ca_file", "apps.proxy", "apps.trusted_roots", "apps.revocation",
        "store.url", "report.directory", "steps", "mode", "coverage", "history", "sweep_days",
        "sweep_ended_days", "sample", "settle", "max_duration", "max_outage", "fail_on",
        "not_found_confirmations", "recover.overlap", "recover.lookback", "recover.inbox",
        "guards.max_changes", "guards.max_change_share", "guards.min_changes",
        "guards.max_not_found_share", "guards.max_verification_failures",
        "guards.max_same_direction_share", "guards.max_shrink_share", "guards.max_own_fault",
        "guards.max_excluded_share", "authority",
    ]

    @Test func `has a name of its own, and the contract's are among them`() {
        let names = DeclaredSetting.all.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(Set(Self.contract).subtracting(names).sorted() == [])
    }

    /// What a key was found to do.
    private struct Trial {
        /// Properties that hold something else, such as `JobSettings.sweepDays`.
        var changed: Set<String>
        var beginsNewPass: Bool
    }

    /// Reads files with the key's first example that means something else than its absence.
    private static func trial(of setting: DeclaredSetting) throws -> Trial {
        let base = try setting.told(nil)
        let before = StoredProperties.of(base)
        for example in setting.description.examples {
            let told = try setting.told(example)
            guard told != base else { continue }
            let after = StoredProperties.of(told)
            return Trial(
                changed: Set(Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }),
                beginsNewPass: told.digest != base.digest)
        }
        return Trial(changed: [], beginsNewPass: false)
    }

    @Test(arguments: DeclaredSetting.all)
    func `gets to the typed settings, and begins a new pass if it says so`(
        setting: DeclaredSetting
    ) throws {
        let trial = try Self.trial(of: setting)
        #expect(!trial.changed.isEmpty, "no example of \(setting.name) changes anything")
        #expect(trial.beginsNewPass == setting.description.beginsNewPass)
    }

    @Test(arguments: DeclaredSetting.all)
    func `means by default what its default means when it is written`(
        setting: DeclaredSetting
    ) throws {
        guard case .value(let text) = setting.description.absence else { return }
        #expect(try setting.told(text) == setting.told(nil))
    }

    @Test func `is all that there is: no other property is stored`() throws {
        var written: Set<String> = []
        var stored: Set<String> = []
        for setting in DeclaredSetting.all {
            written.formUnion(try Self.trial(of: setting).changed)
            stored.formUnion(StoredProperties.of(try setting.told(nil)).keys)
        }
        // Where they were read, which no key says.
        let origin: Set = ["Settings.file", "JobSettings.file", "JobSettings.name"]
        // There as a whole or not at all; each of its keys is declared.
        stored.remove("Settings.notify")
        written.remove("Settings.notify")
        #expect(stored.subtracting(written).subtracting(origin).sorted() == [])
        #expect(written.subtracting(stored).sorted() == [])
    }

    @Test(arguments: DeclaredSetting.all)
    func `is read by somebody`(
        setting: DeclaredSetting
    ) throws {
        for property in try Self.trial(of: setting).changed {
            let read =
                property.hasPrefix("GuardLimits.")
                ? ReadProperties.byRun : ReadProperties.byProgram
            let isRead = read.contains(
                ReadProperties.readAs[property] ?? ReadProperties.name(of: property))
            #expect(isRead, "\(property) of \(setting.name) is read by nobody")
        }
    }

    @Test func `goes on from there: what the run is handed is read, too`() throws {
        let job = try JobSettings(yaml: "{}", file: "nightly.yaml")
        let recover = RecoverSettings(
            overlapMilliseconds: job.recover.overlapMilliseconds,
            lookbackMilliseconds: job.recover.lookbackMilliseconds, inboxIsKept: false)
        let policy = Policy(
            now: Timestamp(unixMilliseconds: 0), apps: [], settleMilliseconds: 0,
            notFoundConfirmations: 1, history: job.history, reportOnlyFields: [])
        for name in [recover as Any, policy].flatMap(StoredProperties.names) {
            let isRead = ReadProperties.byRun.contains(name)
            #expect(isRead, "\(name) is read by nobody")
        }
    }
}
