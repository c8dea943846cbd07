import AppStoreServerAPI
import ReconciliationRun
import Reports
import SubscriptionStore
import Subscriptions

/// Whether a run that began now would have to wait for Apple's quota past its own end (exit 75).
struct QuotaChecks {
    let apps: [AppSettings]
    let jobs: [JobSettings]
    let now: Timestamp

    /// One line for each app.
    func all(of store: SQLiteStore) async -> [Diagnosis] {
        var diagnoses: [Diagnosis] = []
        for app in apps {
            do {
                diagnoses.append(try await diagnosis(of: app, in: store))
            } catch {
                diagnoses.append(.failed("quota", app.identity, error))
            }
        }
        return diagnoses
    }

    private func diagnosis(of app: AppSettings, in store: SQLiteStore) async throws -> Diagnosis {
        let rates = QuotaRates.allowed(by: app)
        let now = now
        let refusals = try await SharedQuota(
            store: store, app: app.identity, rates: rates, now: { now }
        ).refusals()
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
struct ReceiverChecks {
    let settings: Settings
    let invocation: Invocation

    func all() async -> [Diagnosis] {
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
            switch notify.destination {
            case .url(let url, secret: _): return .ok("tell", nil, "\(url), signed")
            case .command(let words): return .ok("tell", nil, "\(words[0]) can be run")
            }
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
