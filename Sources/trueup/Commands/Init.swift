package import ArgumentParser
import FoundationEssentials
import Glibc
import SubscriptionStore
package import Subscriptions

/// `trueup init`: settings, jobs and an empty database to start from.
package struct Init: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Write commented settings and job files, and create the database.",
        discussion: """
            Existing files are never overwritten, so it is safe to run twice. The settings file is \
            the one that --config or $TRUEUP_CONFIG names; jobs are written beside it.
            """)

    @OptionGroup package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let file = Settings.file(flag: common.config, environment: invocation.environment)
        let directory = SettingsPath.directory(of: file)
        var created: [String] = []
        var kept: [String] = []
        let write = { (text: String, path: String) throws(CommandFailure) in
            if try StarterFile.write(text, to: path) {
                created.append(path)
            } else {
                kept.append(path)
            }
        }
        try write(SettingsTemplate.text, file)
        for job in JobTemplates.all {
            try write(
                job.text, SettingsPath.resolve("jobs/" + job.name, from: directory))
        }
        let settings = try Settings.load(flag: file, environment: invocation.environment)
        if FileManager.default.fileExists(atPath: settings.databasePath) {
            kept.append(settings.databasePath)
        } else {
            created.append(settings.databasePath)
        }
        try StarterFile.createFolder(of: settings.databasePath)
        try createDatabase(at: settings.databasePath)
        try tell(created: created, kept: kept, settingsFile: file, in: invocation)
        return .ok
    }

    /// Customers' rows are nobody else's business: the file is for its owner, and those to whom
    /// the owner gives it.
    private func createDatabase(at path: String) throws {
        let before = umask(0o077)
        defer { _ = umask(before) }
        do {
            try SQLiteStore.create(at: path)
        } catch .notWritten(let text) {
            throw CommandFailure(.cannotCreate, text)
        } catch {
            throw error
        }
    }

    private func tell(
        created: [String], kept: [String], settingsFile: String, in invocation: Invocation
    ) throws {
        if common.json {
            let lists: [String: CanonicalJSON] = [
                "created": .array(created.map(CanonicalJSON.string)),
                "kept": .array(kept.map(CanonicalJSON.string)),
            ]
            try invocation.output.line(CanonicalJSON.object(lists).rendered)
            return
        }
        for path in created { try invocation.output.line("created  \(path)") }
        for path in kept { try invocation.output.line("kept     \(path) (was there already)") }
        if !common.quiet, created.contains(settingsFile) {
            try invocation.output.flush()
            invocation.say(
                """

                Next: fill in \(settingsFile), put the key file in place (chmod 600), load your \
                rows with
                "trueup import FILE", and look before you touch: "trueup check nightly" leaves a plan, "trueup apply" applies it.
                """)
        }
    }
}
