import Glibc
package import Subscriptions

/// The folder of one run while it is being made.
///
/// It is called `<run>.partial` until everything in it is complete and on the disk, then renamed:
/// a folder without `.partial` is whole (docs/report-files.md). Killed at any instant, it leaves a
/// `.partial` folder at most, which the next run removes. The caller holds a `ReportFolderClaim`.
package struct ReportFolder: Hashable, Sendable {
    static let partialSuffix = ".partial"
    package static let latest = "latest"

    /// The report folder that holds all runs.
    package let directory: String
    package let runID: String
    private let day: String
    /// The manifest that the report rests on where the report before it is not here.
    ///
    /// The chain is whole again when that report is put back. Until then `verify` takes it for one
    /// whose front was deleted, or, where older reports are here, for one with a hole.
    package var earlierManifest: String?

    /// Makes the folder of a run, and removes what killed runs left.
    ///
    /// Call it before anything is asked of Apple: a folder that cannot be written is found here.
    ///
    /// - Parameters:
    ///   - directory: The report folder.
    ///   - runID: The name of the run.
    ///   - started: When it began.
    ///   - hasLog: Whether the log of a run is one of its files.
    /// - Returns: The folder, unfinished.
    /// - Throws: `.cannotCreate` (exit 73).
    package static func begin(
        in directory: String, runID: String, started: Timestamp, hasLog: Bool = true
    ) throws(ReportError) -> ReportFolder {
        guard runID.isPlainName else {
            throw .cannotCreate("the run id \(runID) cannot be the name of a folder")
        }
        let folder = ReportFolder(
            directory: directory.withoutTrailingSlashes, runID: runID, day: started.utcDay)
        try FileSystem.makeFolders(folder.dayPath)
        try folder.removeLeftovers()
        if FileSystem.entry(at: folder.finalPath) != .nothing {
            throw .cannotCreate("the report \(folder.finalPath) exists already")
        }
        try refuseObstacle(at: folder.path(of: latest))
        try FileSystem.makeFolders(folder.partialPath)
        do {
            _ = try RunIndex.read(in: folder.directory)
            guard hasLog else { return folder }
            // An empty log now: the run may end before it writes its first line.
            let log = try OutputFile(creating: folder.logPath)
            _ = try log.close(named: ReportFile.log)
        } catch {
            throw .cannotCreate(error.description)
        }
        return folder
    }

    /// Refuses anything but a link in the place of the link to the newest run.
    static func refuseObstacle(at link: String) throws(ReportError) {
        guard [.nothing, .link].contains(FileSystem.entry(at: link)) else {
            throw .cannotCreate("\(link) is in the way of the link to the newest run; move it away")
        }
    }

    /// Whether the report of a run is under its final name.
    ///
    /// The rename is what publishes a report: a run that is killed right after it has published.
    package static func isPublished(_ runID: String, in directory: String) -> Bool {
        let directory = directory.withoutTrailingSlashes
        return FileSystem.names(in: directory).contains { day in
            day.isDay && FileSystem.entry(at: "\(directory)/\(day)/\(runID)") == .folder
        }
    }

    /// The newest run whose report is under its final name; `nil` where there is none.
    package static func newestRun(in directory: String) -> String? {
        let directory = directory.withoutTrailingSlashes
        let runs = FileSystem.names(in: directory).filter(\.isDay).flatMap { day in
            FileSystem.names(in: directory + "/" + day).filter(\.isPlainName)
        }
        // Their names begin with the moment at which they began.
        return runs.max { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Where the run appends its structured log while it is active.
    ///
    /// The log must be closed before `finish`, which seals it.
    package var logPath: String { partialPath + "/" + ReportFile.log }

    /// A file of the folder that is not part of the report and must be gone before `finish`.
    package var draftPath: String { partialPath + "/draft" }

    /// Writes every file, puts it on the disk, and gives the folder its final name.
    ///
    /// Then `latest` points to it and `index.csv` has its line. It blocks; call it away from
    /// Swift's cooperative threads.
    ///
    /// - Parameters:
    ///   - record: The run.
    ///   - context: What is stated next to it.
    ///   - noteEnd: Notes the run's end, once everything that grows with the run is written; returns when it
    ///     ended, or `nil` where the end is not noted again.
    /// - Returns: What was published.
    /// - Throws: `ReportError.notWritten` (exit 74) or `.record` (exit 70), or the `StoreError` of
    ///   the record or of `noteEnd`, which has a status of its own; the folder stays `.partial`.
    package func finish(
        _ record: any RunRecord, context: ReportContext, noteEnd: () throws -> Timestamp? = { nil }
    ) throws -> FinishedReport {
        do {
            return try write(record, context: context, noteEnd)
        } catch let error as ReportError {
            throw error
        } catch let error as StoreError {
            throw error
        } catch {
            throw ReportError.record("the stored run \(runID) cannot be read: \(error)")
        }
    }

    private func write(
        _ record: any RunRecord, context: ReportContext, _ noteEnd: () throws -> Timestamp?
    ) throws -> FinishedReport {
        let summary = try record.summary()
        guard summary.header.runID == runID else {
            throw ReportError.record(
                "the stored run is \(summary.header.runID), the report folder is of \(runID)")
        }
        let shown = context.shownDirectory?.withoutTrailingSlashes ?? directory
        var source = try ReportSource(
            record, summary, context: context, shownPath: shown + "/" + relativePath)
        let index = try RunIndex.read(in: directory)
        var seals = [try FileSystem.seal(logPath, named: ReportFile.log)]
        // What grows with the rows is written, or read for the page, before the end: it is part of
        // the run.
        for file in ReportFile.all where !file.statesEnd {
            seals.append(try file.create(in: partialPath, from: source))
        }
        source.pageFacts = try PageFacts(source)
        if let ended = try noteEnd() { source.summary.conclusion.ended = ended }
        for file in ReportFile.all where file.statesEnd {
            seals.append(try file.create(in: partialPath, from: source))
        }
        let manifestDigest = try seal(seals, index) { files, previous in
            source.manifest(of: files, after: previous)
        }
        return FinishedReport(
            path: finalPath, summary: source.summary, plan: source.plan,
            manifestDigest: manifestDigest)
    }

    /// Writes manifest and sums, and gives the folder its final name.
    ///
    /// - Parameters:
    ///   - seals: The files of the folder.
    ///   - index: The index of the report folder.
    ///   - manifest: Makes the manifest from the sorted files and the digest of the manifest before.
    /// - Returns: The digest of the manifest.
    /// - Throws: `.notWritten` (exit 74).
    func seal(
        _ seals: [FileSeal], _ index: RunIndex,
        manifest: (_ files: [FileSeal], _ previous: String?) -> CanonicalJSON
    ) throws(ReportError) -> String {
        var index = index
        let files = seals.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        let text = manifest(files, earlierManifest ?? index.newestManifest).indented
        guard let line = RunIndex.Line(folder: relativePath, manifest: Array(text.utf8)) else {
            throw .notWritten("the manifest of run \(runID) cannot be read back")
        }
        let sealed = try create(ReportFile.manifest, holding: text)
        let sums = (files + [sealed])
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            .map { "\($0.sha256)  \($0.name)\n" }
        _ = try create(ReportFile.sums, holding: sums.joined())
        try FileSystem.synchronize(folder: partialPath)
        index.append(line)
        try publish(index)
        return sealed.sha256
    }

    /// Removes the unfinished folder: nothing is to be reported.
    package func abandon() throws(ReportError) { try FileSystem.removeTree(partialPath) }

    func create(_ name: String, holding text: String) throws(ReportError) -> FileSeal {
        var file = try OutputFile(creating: partialPath + "/" + name)
        try file.write(text)
        return try file.close(named: name)
    }

    /// Everything that can run out of space comes first, then only renames.
    private func publish(_ index: RunIndex) throws(ReportError) {
        try index.writeDraft()
        try FileSystem.rename(partialPath, to: finalPath)
        try FileSystem.synchronize(folder: dayPath)
        try index.publishDraft()
        try FileSystem.replaceLink(at: path(of: Self.latest), target: relativePath)
        try FileSystem.synchronize(folder: directory)
    }

    private func removeLeftovers() throws(ReportError) {
        for day in FileSystem.names(in: directory) where day.isDay {
            let folder = path(of: day)
            for name in FileSystem.names(in: folder) where name.hasSuffix(Self.partialSuffix) {
                try FileSystem.removeTree(folder + "/" + name)
            }
        }
        for name in [RunIndex.fileName, Self.latest, ReportFolderOwner.fileName] {
            let draft = path(of: name + Self.partialSuffix)
            if FileSystem.entry(at: draft) != .nothing { try FileSystem.removeTree(draft) }
        }
    }

    /// Where the folder of a run is below the report folder.
    static func relativePath(ofRun runID: String, started: Timestamp) -> String {
        started.utcDay + "/" + runID
    }

    /// Where the folder is once it is whole.
    package var publishedPath: String { finalPath }

    private var relativePath: String { day + "/" + runID }
    private var dayPath: String { path(of: day) }
    private var finalPath: String { path(of: relativePath) }
    var partialPath: String { finalPath + Self.partialSuffix }

    private func path(of name: String) -> String {
        directory.hasSuffix("/") ? directory + name : directory + "/" + name
    }
}

extension String {
    /// `yyyy-MM-dd`: the folders in which runs are looked for; others are not trueup's.
    var isDay: Bool {
        utf8.count == 10
            && utf8.enumerated().allSatisfy { index, byte in
                index == 4 || index == 7
                    ? byte == UInt8(ascii: "-")
                    : (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            }
    }

    /// ASCII letters, digits, dashes and underscores: safe in a path, a CSV line and a shell.
    var isPlainName: Bool {
        !isEmpty
            && unicodeScalars.allSatisfy { scalar in
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", "-", "_": true
                default: false
                }
            }
    }

    var withoutTrailingSlashes: String {
        var text = Substring(self)
        while text.utf8.count > 1 && text.hasSuffix("/") { text.removeLast() }
        return text.isEmpty ? "." : String(text)
    }
}

/// A report that is complete and has its final name.
package struct FinishedReport: Hashable, Sendable {
    /// The run's folder.
    package var path: String
    /// The source of `summary.txt`, to render it again with colour.
    package var summary: RunSummary
    package var plan: PlanExcerpt?
    /// SHA-256 of `manifest.json`: the link of the chain that the next run continues.
    package var manifestDigest: String
}

/// A stored run whose report is rendered again, with the bytes that it had first.
///
/// It holds every file that is made from the stored run. The log is not among them: the database
/// does not hold it, so `manifest.json` and `SHA256SUMS`, which state its digest, cannot be made
/// either.
package struct RenderedRun: Sendable {
    /// The names of the files, in the order in which `README.txt` names them.
    package static let fileNames = ReportFile.all.map(\.name)
    /// The files of a report that only its first folder has.
    package static let missingNames = [ReportFile.log, ReportFile.manifest, ReportFile.sums]

    private let source: ReportSource

    /// Reads the summary of the run.
    ///
    /// - Parameters:
    ///   - record: The stored run.
    ///   - context: What the report stated next to it; its `shownDirectory` is the report folder.
    /// - Throws: What reading the record throws.
    package init(_ record: any RunRecord, context: ReportContext) throws {
        let summary = try record.summary()
        let header = summary.header
        let folder = ReportFolder.relativePath(ofRun: header.runID, started: header.started)
        let directory = (context.shownDirectory ?? ".").withoutTrailingSlashes
        source = try ReportSource(
            record, summary, context: context, shownPath: directory + "/" + folder)
    }

    /// Renders one file, handing on its bytes as they are made.
    ///
    /// - Parameters:
    ///   - name: One of `fileNames`.
    ///   - receive: Takes the next bytes.
    /// - Throws: `ReportError`, or what reading the record throws.
    package func render(
        _ name: String, to receive: @escaping ([UInt8]) throws(ReportError) -> Void
    ) throws {
        guard let file = ReportFile.all.first(where: { $0.name == name }) else {
            throw ReportError.record("a report has no file \(name) that is made from a stored run")
        }
        var output = try OutputFile(handingTo: receive)
        try file.write(source, &output)
        try output.handOnRest()
    }

    /// Throws where something has the path of a folder that is to be made.
    package func requireNew(_ directory: String) throws(ReportError) {
        let path = directory.withoutTrailingSlashes
        guard FileSystem.entry(at: path) == .nothing else {
            throw .cannotCreate("\(path) exists already. Nothing was written. Name a new folder.")
        }
    }

    /// Writes every file into a new folder.
    ///
    /// - Parameter directory: Must not exist.
    /// - Throws: `.cannotCreate` (exit 73) where something is there, `.notWritten` (exit 74), or
    ///   what reading the record throws.
    package func write(into directory: String) throws {
        let path = directory.withoutTrailingSlashes
        try requireNew(path)
        try FileSystem.makeFolders(path)
        for file in ReportFile.all { _ = try file.create(in: path, from: source) }
        try FileSystem.synchronize(folder: path)
    }
}

/// Whether a run could write its report, as far as that shows without making or changing anything.
extension ReportFolder {
    /// Refuses a folder that a run would refuse, with the run's own words where it can.
    ///
    /// - Parameters:
    ///   - directory: The report folder; a run would make it where there is none.
    ///   - database: Whose run it would be; `nil` where it cannot be told.
    ///   - now: When it would begin: reports are in a folder for each day.
    /// - Throws: What a run would end with: `.cannotCreate`, `.otherDatabase` or `.busy`.
    package static func refuse(
        _ directory: String, for database: ReportingDatabase?, at now: Timestamp
    ) throws(ReportError) {
        guard try isFolder(directory) else { return }
        let lock = directory + "/" + ReportFolderClaim.lockName
        try refuseLock(lock)
        if let database { try ReportFolderClaim.refuseOther(directory, than: database) }
        if let holder = holder(of: lock) {
            throw ReportFolderClaim.busy(directory, holder: holder)
        }
        _ = try isFolder(directory + "/" + now.utcDay)
        try refuseObstacle(at: directory + "/" + latest)
        do throws(ReportError) {
            _ = try RunIndex.read(in: directory)
        } catch {
            throw .cannotCreate(error.description)
        }
    }

    /// Whether the folder is there already; refuses one that could not be made or written to.
    private static func isFolder(_ path: String) throws(ReportError) -> Bool {
        var partial = path.hasPrefix("/") ? "/" : ""
        var above = path.hasPrefix("/") ? "/" : "."
        for component in path.split(separator: "/") {
            partial += component
            var status = stat()
            guard unsafe stat(partial, &status) == 0 else {
                let code = errno
                // A link that leads nowhere is in the way of the folder.
                guard code == ENOENT, FileSystem.entry(at: partial) == .nothing else {
                    let reason = code == ENOENT ? EEXIST : code
                    throw .cannotCreate(
                        FileSystem.sentence("cannot create the folder", partial, reason))
                }
                try refuseUnwritable(above)
                return false
            }
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw .cannotCreate(
                    FileSystem.sentence("cannot create the folder", partial, EEXIST))
            }
            above = partial
            partial += "/"
        }
        try refuseUnwritable(above)
        return true
    }

    private static func refuseUnwritable(_ folder: String) throws(ReportError) {
        guard unsafe access(folder, W_OK | X_OK) != 0 else { return }
        throw .cannotCreate(FileSystem.sentence("cannot write to the folder", folder, errno))
    }

    /// The run opens it to write, and follows no link.
    private static func refuseLock(_ path: String) throws(ReportError) {
        switch FileSystem.entry(at: path) {
        case .nothing: return
        case .folder: throw cannotOpen(path, EISDIR)
        case .link: throw cannotOpen(path, ELOOP)
        case .other:
            guard unsafe access(path, R_OK | W_OK) != 0 else { return }
            throw cannotOpen(path, errno)
        }
    }

    private static func cannotOpen(_ path: String, _ code: Int32) -> ReportError {
        .cannotCreate(FileSystem.sentence("cannot open the lock", path, code))
    }

    /// Who writes into the folder at this moment; a run that begins meanwhile looks again.
    private static func holder(of path: String) -> String? {
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else { return nil }
        defer { close(number) }
        guard flock(number, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK else { return nil }
        return ReportFolderClaim.note(in: number)
    }
}
