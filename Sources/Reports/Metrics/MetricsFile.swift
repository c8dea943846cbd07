import FoundationEssentials
import Glibc

/// Puts a file of metrics where a collector reads it, which may be at any moment.
package enum MetricsFile {
    /// Writes beside the file and renames, so that a reader meets the old figures or the new ones.
    ///
    /// - Parameters:
    ///   - text: The figures of one job.
    ///   - directory: The collector's folder; it must be there.
    ///   - job: Names the file: `trueup-JOB.prom`.
    /// - Throws: `ReportError.notWritten`; then the old file stands as it was.
    package static func write(
        _ text: String, in directory: String, job: String
    ) throws(ReportError) {
        let path = directory + "/" + name(ofJob: job)
        // Collectors read names that end with .prom alone.
        let draft = path + ".partial"
        var file = try OutputFile(creating: draft)
        try file.write(text)
        _ = try file.close(named: path)
        // The collector is another user.
        _ = unsafe chmod(draft, 0o644)
        try FileSystem.rename(draft, to: path)
    }

    /// A job's name stands in a path, so it may not lead out of the folder.
    package static func name(ofJob job: String) -> String { "trueup-\(plain(job)).prom" }

    /// The name without what has a meaning in a path or an address.
    package static func plain(_ job: String) -> String {
        let plain = job.map { character in
            let isPlain = character.isASCII && (character.isLetter || character.isNumber)
            return isPlain || "-_.".contains(character) ? character : "_"
        }
        return String(plain)
    }
}
