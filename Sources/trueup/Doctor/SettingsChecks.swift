import FoundationEssentials
import JSONWebSignature
import Subscriptions

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
