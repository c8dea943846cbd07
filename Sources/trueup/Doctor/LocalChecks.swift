import AppStoreServerAPI
import FoundationEssentials
import JSONWebSignature
import ReconciliationRun
import Reports
import SubscriptionStore
import Subscriptions

/// The checks of `doctor` for which Apple is not asked; they only read.
struct LocalChecks {
    let settings: Settings
    /// The jobs that can be read.
    let jobs: [JobSettings]
    let invocation: Invocation

    var now: Timestamp { invocation.now() }
}

/// Whether a run that began now would have to wait for Apple's quota past its own end (exit 75).
extension LocalChecks {
    /// One line for each app.
    func quota(of store: SQLiteStore) async -> [Diagnosis] {
        var diagnoses: [Diagnosis] = []
        let now = now
        for app in settings.apps {
            do {
                diagnoses.append(try await quota(of: app, in: store, at: now))
            } catch {
                diagnoses.append(.failed("quota", app.identity, error))
            }
        }
        return diagnoses
    }

    private func quota(
        of app: AppSettings, in store: SQLiteStore, at now: Timestamp
    ) async throws -> Diagnosis {
        let rates = QuotaRates.allowed(by: app)
        let refusals = try await store.refusals(ofEndpointsOf: app.identity)
        var waits: [(endpoint: Endpoint, until: Timestamp)] = []
        // The other endpoints are called for some rows only.
        for endpoint in [Endpoint.notificationHistory, .subscriptionStatuses] {
            let account = QuotaAccount(app: app.identity, endpoint: endpoint.rawValue)
            let free = try await store.nextCall(
                of: account, limit: rates.perHour(of: endpoint), at: now)
            let until = max(free ?? now, refusals[endpoint]?.resumesAt ?? now)
            if until > now { waits.append((endpoint, until)) }
        }
        guard let longest = waits.max(by: { $0.until < $1.until }) else {
            return .ok("quota", app.identity, "no call has to wait")
        }
        let detail =
            "calls of \(longest.endpoint.rawValue) have to wait until \(longest.until.rfc3339): the "
            + "job's share of the hour is used up, or Apple said so (429)"
        let stopped = jobs.filter { job in
            let end = now.adding(milliseconds: job.maxDurationMilliseconds)
            return waits.contains { endpoint, until in
                let isCalled = job.steps.contains(
                    endpoint == .notificationHistory ? .recover : .walk)
                return isCalled && end < until
            }
        }
        guard !stopped.isEmpty else {
            return .warning(
                "quota", app.identity, detail, fix: "nothing: a run waits, or begins later")
        }
        return .failed(
            "quota", app.identity,
            detail + ", past the max_duration of \(stopped.map(\.name).joined(separator: ", "))",
            fix: "run after that, raise max_duration, or raise quota_share", .busy)
    }
}

/// Whether the receivers of messages could be reached; nothing is sent.
extension LocalChecks {
    func receivers() async -> [Diagnosis] {
        [await tell, message, metrics].compactMap(\.self)
    }

    /// The secret or the command; a run without them warns, and its events wait.
    private var tell: Diagnosis? {
        get async {
            guard let notify = settings.notify else { return nil }
            do {
                let notifier = try EventNotifier(notify, isVerbose: false, in: invocation)
                await notifier.shutdown()
            } catch {
                return .failed("tell", nil, error)
            }
            guard let url = notify.url, notify.secret != nil else {
                return .ok("tell", nil, "\(notify.command[0]) can be run")
            }
            return .ok("tell", nil, "\(url), signed")
        }
    }

    /// The address, the secret and the program; a run without them warns.
    private var message: Diagnosis? {
        guard settings.message != MessageSettings() else { return nil }
        let messenger = RunMessenger(settings, in: invocation)
        do {
            try messenger.check()
        } catch {
            return .warning("message", nil, error)
        }
        return .ok("message", nil, messenger.description)
    }

    /// A run warns, and the collector continues old figures.
    private var metrics: Diagnosis? {
        guard let directory = settings.metricsDirectory else { return nil }
        guard let reason = FileSystemFacts.obstacle(toFilesIn: directory) else {
            return .ok("metrics", nil, "\(directory) can be written")
        }
        return .warning(
            "metrics", nil, "\(directory) takes no file: \(reason)",
            fix: "make the folder, and give this user the right to write there")
    }
}

/// Whether the programs of the jobs could be started; none is.
extension LocalChecks {
    /// A line for each program that cannot be started, or one for all of them; none where no job
    /// names any.
    ///
    /// A program of `before` or `after_plan` that cannot be started counts as one that refuses.
    func hooks() -> [Diagnosis] {
        var faults: [Diagnosis] = []
        var working: [String] = []
        for job in jobs {
            for (name, command) in job.hooks.commands {
                let key = "hooks.\(name)"
                do throws(ConfigurationError) {
                    try FileSystemFacts.refuseWhatCannotRun(command[0], key: key)
                    working.append("\(key) of \(job.name)")
                } catch {
                    faults.append(Self.fault(error, of: job, stopsRun: name != "after"))
                }
            }
        }
        guard faults.isEmpty else { return faults }
        return working.isEmpty
            ? [] : [.ok("hooks", nil, "\(working.joined(separator: ", ")) can be started")]
    }

    private static func fault(
        _ error: ConfigurationError, of job: JobSettings, stopsRun: Bool
    ) -> Diagnosis {
        let consequence =
            stopsRun ? "a run takes that for a refusal" : "a run only warns of that"
        let detail =
            "job \(job.name): \(error.key ?? ""): \(error.file) \(error.problem); \(consequence)"
        let fix = error.suggestion ?? "correct the path in \(job.file)"
        return stopsRun
            ? .failed("hooks", nil, detail, fix: fix, .guarded)
            : .warning("hooks", nil, detail, fix: fix)
    }
}

extension Settings {
    /// Whether every job can be read: a mistake in a job would otherwise be found only by a run.
    ///
    /// - Parameter names: The jobs to check, as `trueup run` takes them; empty for every job next to the
    ///   settings.
    /// - Returns: A finding for the settings, one for the jobs or one for each that cannot be used, and the others.
    func diagnoses(
        withJobs names: [String] = []
    ) -> (diagnoses: [Diagnosis], jobs: [JobSettings]) {
        let ok = Diagnosis.ok(
            "settings", nil, "\(file), \(apps.count) \(apps.count == 1 ? "app" : "apps")")
        let names = names.isEmpty ? JobSettings.names(beside: self) : names
        guard !names.isEmpty else {
            let folder = SettingsPath.resolve("jobs", from: directory)
            let missing = Diagnosis.failed(
                "jobs", nil, "there are none in \(folder): no run would find its job",
                fix: "\"trueup init\" writes the usual ones", .config)
            return ([ok, missing], [])
        }
        var faults: [Diagnosis] = []
        var jobs: [JobSettings] = []
        for name in names {
            do throws(ConfigurationError) {
                jobs.append(try JobSettings.load(name, beside: self))
            } catch {
                faults.append(.failed("jobs", nil, error))
            }
        }
        let all = faults.isEmpty ? [.ok("jobs", nil, names.joined(separator: ", "))] : faults
        return ([ok] + all, jobs)
    }
}

extension SalesSettings {
    /// Whether the key that gets sales reports can be used; no call is made with it.
    ///
    /// No run needs the key, so a fault is a warning.
    ///
    /// - Returns: `nil` where the settings name no key.
    func keyDiagnosis(_ environment: [String: String]) -> Diagnosis? {
        let missing = missingToFetch
        guard !missing.contains("key_file") else { return nil }
        guard missing.isEmpty else {
            return .warning(
                "sales_key", nil,
                "app_store_connect lacks \(missing.joined(separator: ", ")), so no report can be "
                    + "fetched", fix: "add it, as docs/compare.md shows")
        }
        do {
            _ = try ES256PrivateKey(
                keySource, concerning: "app_store_connect", environment: environment)
            return .ok("sales_key", nil, "\(keyID), \(keySource.place)")
        } catch {
            return .warning("sales_key", nil, error)
        }
    }
}

extension SecretSource {
    /// Where a key that may be used is.
    var place: String {
        switch self {
        case .file(let path): "\(path), closed to others"
        case .environment(let name): "in $\(name)"
        }
    }
}

extension [Diagnosis] {
    /// Prints a line for each, or one JSON object.
    func show(
        _ status: ExitStatus, _ common: CommonOptions, in invocation: Invocation
    ) throws(CommandFailure) {
        guard !common.json else {
            let members: [String: CanonicalJSON] = [
                "checks": .array(map(\.json)),
                "exit_status": .integer(Int64(status.code)), "name": .string(status.name),
            ]
            return try invocation.show(json: CanonicalJSON.object(members))
        }
        let isColoured = common.color.applies(
            toTerminal: invocation.outputIsTerminal, environment: invocation.environment)
        for diagnosis in self where !common.quiet || diagnosis.outcome != .ok {
            try invocation.show(
                lines: [diagnosis.line(isColoured: isColoured)], isColoured: isColoured)
        }
    }
}
