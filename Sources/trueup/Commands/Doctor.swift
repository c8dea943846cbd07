import ArgumentParser
import SubscriptionStore
import Subscriptions

/// `trueup doctor`: whether a run would find everything that it needs.
struct Doctor: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Check everything that a run needs, with one or two calls to Apple for each app.",
        discussion: """
            It prints one line for each check, with what to do. It checks everything on this machine \
            before the first call, and changes nothing. If another program keeps the database locked, it \
            waits as long as a run: up to 40 seconds. The call is Get All Subscription Statuses for a \
            stored id, or for one that does not exist. No notification is sent. A warning does not change \
            the exit status. If several checks fail, the most severe failure decides it.
            """)

    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.database, [.protocol, .denied, .cannotCreate]],
        [
            .ok: "a run would find everything that it needs; warnings count as well",
            .guarded:
                "max_excluded_share would stop a job, for rows of no configured app, or a hook of a job "
                + "cannot be started",
        ])

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        try await common.show(
            skipping: .skipped("everything else", nil, "it depends on the settings"),
            in: invocation
        ) { settings in await examine(settings, in: invocation) }
    }

    private func examine(_ settings: Settings, in invocation: Invocation) async -> [Diagnosis] {
        let (files, jobs) = settings.diagnoses()
        var diagnoses = files
        let checks = settings.apps.map {
            AppleChecks(app: $0, others: settings.apps, invocation: invocation)
        }
        let keys = checks.map { $0.local() }
        diagnoses += keys.flatMap(\.diagnoses)
        diagnoses += [settings.sales.keyDiagnosis(invocation.environment)].compactMap(\.self)
        let local = LocalChecks(settings: settings, jobs: jobs, invocation: invocation)
        diagnoses += await local.receivers()
        diagnoses += local.hooks()
        let storage = await local.storage()
        diagnoses += storage.diagnoses
        diagnoses += await CompanyChecks(
            company: settings.company, writes: jobs.contains { $0.mode == .apply }
        ).all(beside: storage.store)
        if let store = storage.store {
            diagnoses += await local.rows(of: store)
        }
        diagnoses.append(
            .ofTimeZone(
                try? await storage.store?.expiryDifferences(),
                offsets: Diagnosis.offsetsOfThisMachine(at: invocation.now())))
        if let store = storage.store {
            diagnoses += await local.quota(of: store)
        }
        for (check, found) in zip(checks, keys) {
            guard let key = found.key, let roots = found.roots else {
                diagnoses.append(
                    .skipped("apple", check.app.identity, "no call without a key and roots"))
                continue
            }
            let id = try? await storage.store?.someOriginalTransactionID(of: check.app.identity)
            diagnoses += await check.remote(
                key: key, roots: roots, storedID: id ?? nil, sharingQuotaIn: storage.store)
        }
        return diagnoses
    }
}

extension CommonOptions {
    /// Shows what a command finds with the settings.
    ///
    /// - Parameters:
    ///   - skipped: Follows the failure of settings that cannot be used.
    ///   - invocation: Where it goes.
    ///   - examine: Makes the checks.
    /// - Returns: The most severe status of all checks.
    /// - Throws: When the stream takes no more.
    func show(
        skipping skipped: Diagnosis, in invocation: Invocation,
        _ examine: (Settings) async -> [Diagnosis]
    ) async throws -> ExitStatus {
        var diagnoses: [Diagnosis] = []
        do throws(ConfigurationError) {
            diagnoses = await examine(try settings(in: invocation))
        } catch {
            diagnoses = [.failed("settings", nil, error), skipped]
        }
        let status = ExitStatus.decisive(of: diagnoses.map(\.status))
        try diagnoses.show(status, self, in: invocation)
        return status
    }
}
