import Glibc
import Subscriptions

/// The version of the tool, as `--version` and every manifest state it.
package enum ToolVersion {
    package static let current = "0.1.0"
}

/// Who runs this process, as the ledger and the lock name it.
package enum RunningUser {
    /// `user@host`; the user's number where it has no name (containers).
    package static var actor: String {
        let number = getuid()
        let name = unsafe getpwuid(number).flatMap { entry in
            unsafe entry.pointee.pw_name.map { unsafe String(cString: $0) }
        }
        return (name ?? String(number)) + "@" + host
    }

    /// The machine, as it calls itself.
    static var host: String {
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "unknown" }
        return String(
            decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// For the lock: who, and which process of theirs.
    package static func lockHolder(doing what: String) -> String {
        "\(actor), process \(getpid()), \(what)"
    }
}

extension RunHeader {
    /// What a run is recorded as, under a name of its own.
    ///
    /// - Parameters:
    ///   - job: the settings that it runs by.
    ///   - mode: whether it may write.
    ///   - started: by its own clock.
    ///   - settings: those of the file.
    ///   - narrowing: what leaves rows or findings out, in words.
    ///   - identity: what else tells it from other runs: a killed run is continued only by one with
    ///     the same digest.
    init(
        _ job: JobSettings, mode: RunMode, started: Timestamp, settings: Settings,
        narrowing: [String] = [], alsoDigesting identity: [String] = []
    ) {
        self.init(
            runID: Self.newRunID(started: started), job: job.name, mode: mode, started: started,
            apps: settings.identities, actor: RunningUser.actor, toolVersion: ToolVersion.current,
            settingsDigest: SettingsDigest.of(
                settings, job, mode: mode, narrowing: narrowing + identity),
            narrowing: narrowing, notFoundConfirmations: job.notFoundConfirmations)
    }

    /// For example `20261120T031704Z-7f3c9a`: sorts by time, and no two runs share one.
    private static func newRunID(started: Timestamp) -> String {
        let digits = started.rfc3339.prefix(19).filter { $0 != "-" && $0 != ":" }
        let random = String(UInt32.random(in: 0..<(1 << 24)), radix: 16)
        return digits + "Z-" + String(repeating: "0", count: 6 - random.count) + random
    }
}
