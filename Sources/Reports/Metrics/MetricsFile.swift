import Crypto
import FoundationEssentials
import Glibc
import Subscriptions

/// Puts a file of metrics where a collector reads it, which may be at any moment.
package enum MetricsFile {
    /// Names the apps of a run that was for some alone.
    static let appsLabel = "apps"

    /// Between job and apps in a file's name; no job's name has it there.
    private static let beforeApps = "@"
    private static let suffix = ".prom"
    /// The longest name in most file systems, less the characters around the apps.
    private static let longestApps = 120

    /// Writes next to the file and renames, so that a reader meets the old figures or the new ones.
    ///
    /// An app is in one file of a job, or its figures would count twice: older files of the same
    /// job that are about one of the apps are removed, by a run for all apps every one. One for
    /// some apps leaves the file of the whole job as it is: it may have been given by hand.
    ///
    /// - Parameters:
    ///   - text: The figures of one job.
    ///   - directory: The collector's folder; it must be there.
    ///   - job: Names the file: `trueup-JOB.prom`.
    ///   - apps: Those that the run was for alone, as `--app` takes them: `trueup-JOB@APPS.prom`.
    /// - Throws: `ReportError.notWritten`; then the old file is as it was, or an older one that is
    ///   about the same apps could not be removed.
    package static func write(
        _ text: String, in directory: String, job: String, apps: [String] = []
    ) throws(ReportError) {
        let name = name(ofJob: job, apps: apps)
        let path = directory + "/" + name
        // Collectors read names that end with .prom alone.
        let draft = path + ".partial"
        var file = try OutputFile(creating: draft)
        try file.write(text)
        _ = try file.close(named: path)
        // The collector is another user.
        _ = unsafe chmod(draft, 0o644)
        try FileSystem.rename(draft, to: path)
        try removeOthers(than: name, in: directory, ofJob: job, apps: Set(apps))
    }

    /// A job's name is in a path, so it may not lead out of the folder.
    package static func name(ofJob job: String, apps: [String] = []) -> String {
        let scope = apps.isEmpty ? "" : beforeApps + plain(appsAlone: apps)
        return "trueup-\(plain(job))\(scope)\(suffix)"
    }

    /// The name without what has a meaning in a path or an address.
    package static func plain(_ job: String) -> String {
        let plain = job.map { character in
            let isPlain = character.isASCII && (character.isLetter || character.isNumber)
            return isPlain || "-_.".contains(character) ? character : "_"
        }
        return String(plain)
    }

    /// Some apps as one such name, the same for the same apps.
    ///
    /// - Parameter apps: As `--app` takes them; `all` where there are none.
    /// - Returns: Their names, or, where these are long, how many they are and a digest of them.
    package static func plain(appsAlone apps: [String]) -> String {
        guard !apps.isEmpty else { return "all" }
        let names = apps.sorted().map(plain).joined(separator: "+")
        guard names.utf8.count > longestApps else { return names }
        let digest = SHA256.hash(data: Array(apps.sorted().joined(separator: "\n").utf8))
        return "\(apps.count)-apps-" + digest.hexadecimal.prefix(12)
    }

    private static func removeOthers(
        than own: String, in directory: String, ofJob job: String, apps: Set<String>
    ) throws(ReportError) {
        let prefix = "trueup-" + plain(job) + beforeApps
        for name in FileSystem.names(in: directory)
        where name != own && name.hasPrefix(prefix) && name.hasSuffix(suffix) {
            let path = directory + "/" + name
            guard apps.isEmpty || !apps.isDisjoint(with: self.apps(ofFile: path)) else { continue }
            guard unsafe unlink(path) == 0 || errno == ENOENT else {
                let code = errno
                throw .notWritten(
                    FileSystem.sentence(
                        "the new figures are written, but cannot remove", path, code)
                        + "; its apps count twice until it is gone")
            }
        }
    }

    /// Returns the apps that the label of the first sample names.
    private static func apps(ofFile path: String) -> [String] {
        guard let bytes = FileSystem.contents(of: path) else { return [] }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let begin = text.firstRange(of: ",\(appsLabel)=\"") else { return [] }
        let rest = text[begin.upperBound...]
        return rest.prefix { $0 != "\"" }.split(separator: ",").map(String.init)
    }
}
