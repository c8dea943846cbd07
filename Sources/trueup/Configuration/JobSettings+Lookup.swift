import FoundationEssentials
import Subscriptions

/// How the `JOB` of a command line becomes a file.
extension JobSettings {
    /// Reads `jobs/JOB.yaml` beside the settings, or the file at a path.
    ///
    /// What contains `/` or ends in `.yaml` or `.yml` is a path, seen from the working folder.
    ///
    /// - Throws: 78 with file, line, key and what to write instead.
    package static func load(
        _ job: String, beside settings: Settings
    ) throws(ConfigurationError) -> JobSettings {
        let isPath = job.contains("/") || job.hasSuffix(".yaml") || job.hasSuffix(".yml")
        let folder = SettingsPath.resolve("jobs", from: settings.directory)
        let file = isPath ? job : folder + "/" + job + ".yaml"
        let text = try SettingsFile.text(
            ofFileAt: file, absent: suggestion(for: SettingsPath.stem(of: job), in: folder))
        return try JobSettings(yaml: text, file: file)
    }

    private static func suggestion(for job: String, in folder: String) -> String {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let jobs = names.filter { $0.hasSuffix(".yaml") }.map(SettingsPath.stem).sorted()
        if jobs.isEmpty { return "\"trueup init\" writes the usual jobs" }
        if let nearest = NearestName.suggestion(for: job, among: jobs) {
            return "did you mean \"\(nearest)\"?"
        }
        return "jobs there: " + jobs.joined(separator: ", ")
    }
}
