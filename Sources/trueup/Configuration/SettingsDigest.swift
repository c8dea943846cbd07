import Crypto
import Reconciliation
package import Subscriptions

/// One digest for everything that a run was told to do, secrets left out.
package enum SettingsDigest {
    /// SHA-256 in lowercase hexadecimal over a canonical rendering of settings, job and narrowing.
    ///
    /// A pass is only continued by a run with the same one, so whatever changes a judgement or its
    /// extent is in it. How fast and how long a run asks, with which key and by which way, and whom
    /// it tells, changes neither: whoever raises `max_duration` after a deadline wants to go on, not
    /// to begin again.
    package static func of(
        _ settings: Settings, _ job: JobSettings, mode: RunMode, narrowing: [String] = []
    ) -> String {
        let canonical = CanonicalJSON.object([
            "apps": .array(settings.apps.map(canonical)),
            "store": .string(settings.databasePath),
            "job": canonical(job),
            "mode": .string(mode.rawValue),
            "narrowing": .array(narrowing.map(CanonicalJSON.string)),
        ])
        return SHA256.hash(data: Array(canonical.rendered.utf8)).map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }

    private static func canonical(_ app: AppSettings) -> CanonicalJSON {
        .object([
            "bundle_id": .string(app.identity.bundleID),
            "environment": .string(app.identity.environment.rawValue),
            "app_apple_id": app.appAppleID.map(CanonicalJSON.integer) ?? .null,
            "endpoint": .string(app.endpoint.url),
            "revocation": .string(app.revocation.rawValue),
            "trusted_roots": .array(
                app.trustedRoots.map { root in
                    switch root {
                    case .apple: .string("apple")
                    case .file(let path): .string("file:" + path)
                    }
                }),
        ])
    }

    private static func canonical(_ job: JobSettings) -> CanonicalJSON {
        .object([
            "name": .string(job.name),
            "steps": .array(job.steps.map { .string($0.rawValue) }),
            "coverage": .string(job.coverage.rawValue),
            "history": .string(job.history.rawValue),
            "sweep_days": .integer(Int64(job.sweepDays)),
            "sample": .string(String(job.sample)),
            "settle": .integer(job.settleMilliseconds),
            "fail_on": .string(job.failOn.rawValue),
            "not_found_confirmations": .integer(Int64(job.notFoundConfirmations)),
            "recover": .object([
                "overlap": .integer(job.recover.overlapMilliseconds),
                "lookback": .integer(job.recover.lookbackMilliseconds),
                "inbox": .string(job.recover.inbox.rawValue),
            ]),
            "guards": .object([
                "max_changes": .integer(Int64(job.guards.maxChanges)),
                "max_change_share": .string(String(job.guards.maxChangeShare)),
                "min_changes": .integer(Int64(job.guards.minChanges)),
                "max_not_found_share": .string(String(job.guards.maxNotFoundShare)),
                "max_verification_failures": .integer(Int64(job.guards.maxVerificationFailures)),
                "max_same_direction_share": .string(String(job.guards.maxSameDirectionShare)),
                "max_shrink_share": .string(String(job.guards.maxShrinkShare)),
                "max_excluded_share": .string(String(job.guards.maxExcludedShare)),
                "max_own_fault": job.guards.maxOwnFault.map { .integer(Int64($0)) } ?? .null,
            ]),
            "report_only": .array(job.reportOnlyFields.sorted().map(CanonicalJSON.string)),
        ])
    }
}
