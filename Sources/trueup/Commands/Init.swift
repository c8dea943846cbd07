import ArgumentParser
import FoundationEssentials
import Glibc
import ProgramDatabase
import SubscriptionStore
import Subscriptions

/// `trueup init`: settings, jobs and an empty database to start from.
struct Init: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Write commented settings and job files, and create the database.",
        discussion: """
            It never overwrites a file, so you can run it twice. The settings file is the one that \
            --config or $TRUEUP_CONFIG names; the jobs go next to it. If the settings exist and the job \
            files cannot be written, as in a mounted ConfigMap, it names these files and creates the \
            database all the same. It updates a database of an earlier version, and restores triggers \
            and indexes that a program removed. It waits up to 10 seconds for an active run.

            With --from it writes nothing: it prints a mapping of your own table for you to read and to \
            put into the settings.
            """)

    @Option(
        help: ArgumentHelp(
            "Read the schema of your own database, and print a proposed mapping.",
            valueName: "url"))
    var from: String?

    @OptionGroup var dry: DryRunOption
    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.database, [.cannotCreate]],
        [
            .ok: "the files and the database are there",
            .data: "with --from: no table has a column for Apple's original transaction id",
        ])

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        if let from { return try await propose(from: from, in: invocation) }
        let file = Settings.file(flag: common.config, environment: invocation.environment)
        let directory = SettingsPath.directory(of: file)
        guard !dry.dryRun else { return try showDryRun(settingsFile: file, in: invocation) }
        var parts = Parts()
        let isNew = try Self.write(SettingsTemplate.text, to: file)
        parts.add(file, isNew: isNew)
        let settings = try Settings.load(flag: file, environment: invocation.environment)
        let database = settings.databasePath
        parts.add(database, isNew: !FileManager.default.fileExists(atPath: database))
        try Self.createFolder(of: database)
        try createDatabase(settings, invocation, &parts)
        // After the database, as jobs of a deployment may be where no user may write, and a run
        // needs only the job that it is of.
        for job in JobTemplates.all {
            let path = SettingsPath.resolve("jobs/" + job.name, from: directory)
            do throws(CommandFailure) {
                parts.add(path, isNew: try Self.write(job.text, to: path))
            } catch {
                if isNew { throw error }
                parts.missing.append((path, error.description))
            }
        }
        try show(parts, settingsFile: file, in: invocation)
        return .ok
    }

    /// Names what would be created and what is there; writes nothing.
    private func showDryRun(
        settingsFile file: String, in invocation: Invocation
    ) throws -> ExitStatus {
        let directory = SettingsPath.directory(of: file)
        let exists = FileManager.default.fileExists(atPath: file)
        let database =
            exists
            ? try Settings.load(flag: file, environment: invocation.environment).databasePath
            : SettingsPath.resolve(Settings().databasePath, from: directory)
        var parts = Parts()
        let jobs = JobTemplates.all.map { SettingsPath.resolve("jobs/" + $0.name, from: directory) }
        for path in [file, database] + jobs {
            let isNew = !FileManager.default.fileExists(atPath: path)
            parts.add(path, isNew: isNew)
            if isNew { try Self.requireWritableFolder(of: path) }
        }
        try show(parts, settingsFile: "", in: invocation)
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
        if ProgramCommand.isURL(path) {
            throw CommandFailure(
                .usage,
                "--from \(path) names a store program, which needs no mapping: it says itself which "
                    + "columns it keeps. Write \"store: {url: '\(path)', books: sqlite:books.sqlite}\" "
                    + "and run \"trueup doctor\" (\(DocumentationPage.storePrograms)).")
        }
        let isOnServer = CompanySettings.isElsewhere(path)
        let source = try CompanySettings.source(
            isOnServer ? path : SettingsPath.resolve(path, from: "."), file: "--from")
        let named = isOnServer ? path : source.url
        let (tables, proposal) = try await onBackgroundThread {
            let schema = try source.schema()
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
        try common.show(
            .object(["proposal": .string(text)]),
            (text.hasSuffix("\n") ? String(text.dropLast()) : text).lines, in: invocation)
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
        let before = umask(0o077)
        defer { _ = umask(before) }
        do {
            let holder = RunningUser.lockHolder(doing: "init")
            let lock = try invocation.lock(settings, for: holder)
            let books = try Books(settings, holder: holder)
            let made = try books.create(under: lock)
            CallNotes(besideDatabaseAt: settings.databasePath).prepare()
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
        var lists: [String: CanonicalJSON] = [
            "created": .strings(parts.created), "kept": .strings(parts.kept),
            "missing": .strings(parts.missing.map(\.path)), "restored": .strings(parts.restored),
        ]
        if dry.dryRun { lists["dry_run"] = .boolean(true) }
        let created = dry.dryRun ? "missing, would be created: " : "created  "
        try common.show(
            .object(lists),
            parts.created.map { created + $0 }
                + parts.kept.map { "kept     \($0) (was there already)" }
                + parts.missing.map { "missing  \($0.reason)" }
                + parts.restored.map { "restored \($0)" }, in: invocation)
        guard !common.json else { return }
        if !common.quiet, !parts.missing.isEmpty {
            try invocation.output.flush()
            invocation.say(
                "The settings and the database are ready. A job whose file is missing cannot be run "
                    + "until the file is put where the others are.")
        }
        if !common.quiet, parts.created.contains(settingsFile) {
            try invocation.output.flush()
            invocation.say(
                lines: [
                    "", "Next:",
                    "  1. Fill in \(settingsFile) and put the key file in place (chmod 600).",
                    "  2. trueup import FILE      load your rows",
                    "  3. trueup doctor           until every line is ok",
                    "  4. trueup check audit      if your rows have statuses: compares every row, writes none",
                    "  5. trueup run backfill     fills what is empty, and corrects what differs",
                    "  6. trueup check nightly    for a week: each leaves a plan, which \"trueup apply\" applies",
                ])
        }
    }
}

extension Init {
    /// The result of the command for each file.
    private struct Parts {
        var created: [String] = []
        var kept: [String] = []
        /// Job files that could not be written, each with the sentence that says why.
        var missing: [(path: String, reason: String)] = []
        /// The parts of the database's schema that were restored.
        var restored: [String] = []

        mutating func add(_ path: String, isNew: Bool) {
            if isNew { created.append(path) } else { kept.append(path) }
        }
    }
}

/// Writes files that people edit afterwards; never over one that exists.
extension Init {
    /// Writes a file that does not exist yet; `false` when it does.
    private static func write(_ text: String, to path: String) throws(CommandFailure) -> Bool {
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
                // The next call would keep half a file, as if a person had written it so.
                unsafe unlink(path)
                throw failure(path, code)
            }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Makes the folder of a file, and those above it, where they are missing.
    private static func createFolder(of path: String) throws(CommandFailure) {
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

    /// Throws where the nearest folder above a file that is there may not be written.
    private static func requireWritableFolder(of path: String) throws(CommandFailure) {
        var folder = SettingsPath.directory(of: path)
        while !FileManager.default.fileExists(atPath: folder), folder.count > 1 {
            folder = SettingsPath.directory(of: folder)
        }
        var isFolder = false
        _ = FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder)
        guard isFolder else { throw failure(path, ENOTDIR) }
        guard unsafe access(folder, W_OK | X_OK) == 0 else { throw failure(path, errno) }
    }

    private static func failure(_ path: String, _ code: Int32) -> CommandFailure {
        CommandFailure(
            .cannotCreate, "\(path): cannot be created: \(SettingsFile.reason(code))")
    }
}
