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
        var told = JobSettings.declared.digest(of: job)
        told["name"] = .string(job.name)
        var members = Settings.declared.digest(of: settings)
        members["job"] = .object(told)
        members["mode"] = .string(mode.rawValue)
        members["narrowing"] = .array(narrowing.map(CanonicalJSON.string))
        let canonical = CanonicalJSON.object(members)
        return SHA256.hash(data: Array(canonical.rendered.utf8)).hexadecimal
    }
}
