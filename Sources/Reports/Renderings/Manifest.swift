import Subscriptions

/// `manifest.json`: what the folder must hold, and the link to the run before.
struct Manifest {
    /// Raised when a reader of an earlier version would misread the folder.
    static let format: Int64 = 1

    let source: ReportSource
    let files: [FileSeal]
    /// SHA-256 of the previous run's `manifest.json`; `nil` for the first.
    let previous: String?

    var text: String { json.indented }

    private var json: CanonicalJSON {
        let summary = source.summary
        let header = summary.header
        var members: [String: CanonicalJSON] = [
            "apps": .array(source.context.apps.map(\.json)),
            "corrections_applied": .integer(summary.corrections[.applied] ?? 0),
            "ended": .time(summary.conclusion.ended),
            "files": .array(files.map(\.json)),
            "findings": .integer(summary.findings.reduce(0) { $0 + $1.findings }),
            "format": .integer(Self.format),
            "job": .string(header.job),
            "ledger_head": .string(summary.ledgerHead),
            "lifted_guards": .array(summary.liftedGuards.map(\.json)),
            "mode": .string(header.mode.rawValue),
            "outcome": summary.conclusion.outcomeJSON,
            "plan_only": .boolean(source.context.isPlanOnly),
            "previous": .text(previous),
            "run_id": .string(header.runID),
            "scope": source.scope,
            "settings_digest": .string(header.settingsDigest),
            "started": .time(header.started),
            "tool_version": .string(source.context.toolVersion),
            "totals": summary.totals.json,
            "trusted_roots": .array(source.context.trustedRoots.map(\.json)),
        ]
        if !source.context.declarations.isEmpty {
            members["restored"] = .array(source.context.declarations.map(\.canonical))
        }
        if let retention = source.context.retentionMilliseconds {
            members["retention_seconds"] = .integer(retention / 1000)
        }
        if let database = source.context.database { members["database"] = .string(database) }
        return .object(members.merging(source.noticeMember) { own, _ in own })
    }
}

extension FileSeal {
    fileprivate var json: CanonicalJSON {
        var members: [String: CanonicalJSON] = [
            "bytes": .integer(bytes), "lines": .integer(lines), "name": .string(name),
            "sha256": .string(sha256),
        ]
        if let contentBytes { members["content_bytes"] = .integer(contentBytes) }
        return .object(members)
    }
}

extension ReportedApp {
    fileprivate var json: CanonicalJSON {
        .object([
            "app_apple_id": appAppleID.map(CanonicalJSON.integer) ?? .null,
            "bundle_id": .string(identity.bundleID),
            "environment": .string(identity.environment.rawValue),
        ])
    }
}

extension TrustedRoot {
    fileprivate var json: CanonicalJSON {
        .object([
            "certificate": isApple ? .null : .text(certificatePEM),
            "fingerprint": .string(fingerprint),
            "is_apple": .boolean(isApple),
        ])
    }
}
