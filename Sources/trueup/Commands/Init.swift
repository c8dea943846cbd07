package import ArgumentParser
import FoundationEssentials
import Glibc
import PostgresDatabase
import SubscriptionStore
package import Subscriptions

/// `trueup init`: settings, jobs and an empty database to start from.
package struct Init: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Write commented settings and job files, and create the database.",
        discussion: """
            Existing files are never overwritten, so it is safe to run twice. The settings file is \
            the one that --config or $TRUEUP_CONFIG names; jobs are written beside it. Where settings stand \
            already and job files cannot be written, as in a mounted ConfigMap, it names these and makes \
            the database all the same. A database \
            of an earlier version is brought up to date; triggers and indexes that somebody \
            removed from it are put back. With --from nothing is written: the proposal is for you to \
            read, and to put into the settings (docs/mappings/README.md). Waits up to 10 seconds for a run that is going on.
            """)

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Look at the tables of your own database, and propose a mapping on standard output.",
            valueName: "url"))
    package var from: String?

    @OptionGroup(title: "For every command") package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        if let from { return try await propose(from: from, in: invocation) }
        let file = Settings.file(flag: common.config, environment: invocation.environment)
        let directory = SettingsPath.directory(of: file)
        var parts = Parts()
        let isNew = try StarterFile.write(SettingsTemplate.text, to: file)
        parts.add(file, isNew: isNew)
        let settings = try Settings.load(flag: file, environment: invocation.environment)
        let database = settings.databasePath
        parts.add(database, isNew: !FileManager.default.fileExists(atPath: database))
        try StarterFile.createFolder(of: database)
        try createDatabase(settings, invocation, &parts)
        // After the database, as jobs of a deployment may lie where nobody may write, and a run needs
        // only the job that it is of.
        for job in JobTemplates.all {
            let path = SettingsPath.resolve("jobs/" + job.name, from: directory)
            do throws(CommandFailure) {
                parts.add(path, isNew: try StarterFile.write(job.text, to: path))
            } catch {
                if isNew { throw error }
                parts.missing.append((path, error.description))
            }
        }
        try show(parts, settingsFile: file, in: invocation)
        return .ok
    }

    /// Proposes how a table of the company's own may be mapped; nothing is written.
    private func propose(from url: String, in invocation: Invocation) async throws -> ExitStatus {
        let path: String
        do throws(ConfigurationError) {
            path = try SettingForm<String>.storeURL.read(SettingsValue(url, ofVariable: "--from"))
        } catch {
            throw CommandFailure(
                .usage,
                "--from \(error.problem)" + (error.suggestion.map { "; \($0)" } ?? ""))
        }
        let isPostgreSQL = PostgresAddress.isURL(path)
        let source = try CompanySettings.source(
            isPostgreSQL ? path : SettingsPath.resolve(path, from: "."), file: "--from")
        let named = isPostgreSQL ? path : source.url
        let (tables, proposal) = try await offTheCooperativeThreads {
            let schema = try CompanyConnection.schema(source)
            let tables = try schema.tables()
            var proposal = MappingProposal(tables, url: named)
            if let status = proposal.wordedStatus {
                proposal.statusWords =
                    (try? schema.words(of: status.column, in: status.table)) ?? []
            }
            return (tables, proposal)
        }
        guard let text = proposal.text else {
            throw CommandFailure(
                .data,
                "No table of \(source.url) has a column that looks like Apple's original "
                    + "transaction id. " + Self.choice(among: proposal.columnsToLookAt)
                    + "Tables: " + tables.map(\.name.description).joined(separator: ", ")
                    + ". Nothing was written. Write the mapping by hand (docs/mappings/README.md).")
        }
        guard !common.json else {
            try invocation.show(json: CanonicalJSON.object(["proposal": .string(text)]))
            return .ok
        }
        try invocation.show(text: text.hasSuffix("\n") ? String(text.dropLast()) : text)
        return .ok
    }

    private static let longestChoice = 20

    private static func choice(among columns: [String]) -> String {
        guard !columns.isEmpty else { return "" }
        let rest = columns.count - longestChoice
        return "One of these columns may hold it: "
            + columns.prefix(longestChoice).joined(separator: ", ")
            + (rest > 0 ? " and \(rest) more" : "") + ". "
    }

    /// The file holds customers' rows: it is for its owner, and those to whom
    /// the owner gives it.
    private func createDatabase(
        _ settings: Settings, _ invocation: Invocation, _ parts: inout Parts
    ) throws {
        let path = settings.databasePath
        let before = umask(0o077)
        defer { _ = umask(before) }
        do {
            let lock = try RunLock.acquire(
                forDatabaseAt: path, holder: RunningUser.lockHolder(doing: "init"),
                now: invocation.now(), waitMilliseconds: invocation.lockPatienceMilliseconds)
            let books = try Books(settings, holder: RunningUser.lockHolder(doing: "init"))
            let made = try books.create(under: lock)
            CallNotes(besideDatabaseAt: path).prepare()
            _ = consume lock
            parts.restored = made.restored
            if let isNew = made.isNewOnServer, let place = books.place {
                parts.add(place, isNew: isNew)
            }
        } catch StoreError.notWritten(let text), RunLockError.cannotLock(let text) {
            throw CommandFailure(.cannotCreate, text)
        }
    }

    private func show(_ parts: Parts, settingsFile: String, in invocation: Invocation) throws {
        if common.json {
            let lists: [String: CanonicalJSON] = [
                "created": .array(parts.created.map(CanonicalJSON.string)),
                "kept": .array(parts.kept.map(CanonicalJSON.string)),
                "missing": .array(parts.missing.map { .string($0.path) }),
                "restored": .array(parts.restored.map(CanonicalJSON.string)),
            ]
            try invocation.show(json: CanonicalJSON.object(lists))
            return
        }
        for path in parts.created { try invocation.show("created  \(path)") }
        for path in parts.kept {
            try invocation.show("kept     \(path) (was there already)")
        }
        for file in parts.missing { try invocation.show("missing  \(file.reason)") }
        for part in parts.restored { try invocation.show("restored \(part)") }
        if !common.quiet, !parts.missing.isEmpty {
            try invocation.output.flush()
            invocation.say(
                "The settings and the database are ready. A job whose file is missing cannot be run "
                    + "until the file is put where the others are.")
        }
        if !common.quiet, parts.created.contains(settingsFile) {
            try invocation.output.flush()
            invocation.say(
                text: """

                    Next: fill in \(PlainText.of(settingsFile)), put the key file in place (chmod 600), load your \
                    rows with
                    "trueup import FILE", and look before you touch: "trueup check nightly" leaves a plan, "trueup apply" applies it.
                    """)
        }
    }
}

extension Init {
    /// What the command did with each file.
    private struct Parts {
        var created: [String] = []
        var kept: [String] = []
        /// Job files that could not be written, each with the sentence that says why.
        var missing: [(path: String, reason: String)] = []
        /// What of the database's schema was put back.
        var restored: [String] = []

        mutating func add(_ path: String, isNew: Bool) {
            if isNew { created.append(path) } else { kept.append(path) }
        }
    }
}

/// Writes files that people edit afterwards; never over one that exists.
enum StarterFile {
    /// Writes a file that does not exist yet; `false` when it does.
    static func write(_ text: String, to path: String) throws(CommandFailure) -> Bool {
        try createFolder(of: path)
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            if errno == EEXIST { return false }
            throw failure(path, errno)
        }
        defer { close(descriptor) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { bytes in
                unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
            }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                let code = errno
                // The next call would keep half a file, as if somebody had written it so.
                unsafe unlink(path)
                throw failure(path, code)
            }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Makes the folder of a file, and those above it, where they are missing.
    static func createFolder(of path: String) throws(CommandFailure) {
        let folder = SettingsPath.directory(of: path)
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(
                .cannotCreate, "\(folder): this folder cannot be created; check the rights above it"
            )
        }
    }

    private static func failure(_ path: String, _ code: Int32) -> CommandFailure {
        CommandFailure(
            .cannotCreate, "\(path): cannot be created: \(SettingsFile.reason(code))")
    }
}
