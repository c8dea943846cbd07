import Glibc
import Subscriptions

/// What the operating system says of the place where a file lies; nothing is created or changed.
enum FileSystemFacts {
    /// Below it a run is not begun lightly: evidence, reports and the log of SQLite all grow.
    static let leastFreeBytes: UInt64 = 100 << 20
    static let comfortableFreeBytes: UInt64 = 1 << 30

    /// Bytes that this user may still write there.
    static func freeBytes(at path: String) -> UInt64? {
        var facts = statvfs()
        guard unsafe statvfs(path, &facts) == 0 else { return nil }
        let (bytes, overflow) = UInt64(facts.f_bavail).multipliedReportingOverflow(
            by: UInt64(facts.f_frsize))
        return overflow ? .max : bytes
    }

    /// Why the path cannot be written; `nil` when it can.
    static func obstacle(toWriting path: String) -> String? {
        unsafe access(path, W_OK) == 0 ? nil : SettingsFile.reason(errno)
    }

    /// Absolute, without symbolic links; the path itself when that cannot be learned.
    static func realPath(_ path: String) -> String {
        guard let resolved = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// The path itself, or the nearest folder above it that exists.
    static func nearestExisting(_ path: String) -> String {
        var path = path
        while !exists(path) {
            let above = SettingsPath.directory(of: path)
            guard above != path else { break }
            path = above
        }
        return path
    }
}
