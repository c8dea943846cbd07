import FoundationEssentials
import Glibc
import Subscriptions

/// The right to write reports into a folder: for one database, and for one run of it at a time.
///
/// Two databases in one folder would remove each other's unfinished reports and break the chain of
/// manifests. So the folder knows its database (`ReportFolderOwner`), and is locked by the kernel
/// (flock(2)) while a run is active: the lock of the database does not keep another database out.
package struct ReportFolderClaim: ~Copyable {
    static let lockName = ".lock"
    /// A process that can open the file can hold the lock.
    private static let mode: mode_t = 0o600
    private static let noteBytesLimit = 4096

    private let descriptor: Int32
    private let directory: String

    private init(owning descriptor: Int32, directory: String) {
        self.descriptor = descriptor
        self.directory = directory
    }

    deinit {
        close(descriptor)
    }

    /// Takes the folder for a run.
    ///
    /// A folder without a note of its database, which earlier versions left, is adopted by the
    /// first that asks.
    ///
    /// - Parameters:
    ///   - directory: The report folder; it is made if there is none.
    ///   - database: Whose run it is.
    ///   - holder: Who takes it, for others to read.
    ///   - replacing: Whether the database may take the place of the one that the folder knows,
    ///     once `bind` says so.
    /// - Returns: The claim; it holds as long as this value lives.
    /// - Throws: `.otherDatabase` (exit 78), `.busy` (exit 75) or `.cannotCreate` (exit 73).
    package static func take(
        _ directory: String, for database: ReportingDatabase, holder: String,
        replacing: Bool = false
    ) throws(ReportError) -> ReportFolderClaim {
        try FileSystem.makeFolders(directory)
        let path = directory + "/" + lockName
        let number = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode)
        guard number >= 0 else {
            throw .cannotCreate(FileSystem.sentence("cannot open the lock", path, errno))
        }
        let claim = ReportFolderClaim(owning: number, directory: directory)
        let isFree = try claim.lock(path)
        let owner = try ReportFolderOwner.read(in: directory)
        try refuse(owner, in: directory, unless: database, replacing: replacing)
        guard isFree else {
            throw busy(directory, holder: note(in: number))
        }
        claim.write(note: holder)
        if !replacing { try claim.bind(database) }
        return claim
    }

    /// Records the database whose runs the folder holds from now on.
    package func bind(_ database: ReportingDatabase) throws(ReportError) {
        let own = ReportFolderOwner(
            identity: database.identity,
            relativePath: ReportFolderOwner.relativePath(of: database.path, from: directory))
        let path = directory + "/" + ReportFolderOwner.fileName
        if FileSystem.entry(at: path) != .nothing {
            let noted = try ReportFolderOwner.read(in: directory)
            if noted == own { return }
        }
        try own.write(in: directory)
    }

    /// Refuses the folder of another database, without taking it.
    static func refuseOther(
        _ directory: String, than database: ReportingDatabase
    ) throws(ReportError) {
        try refuse(
            ReportFolderOwner.read(in: directory), in: directory, unless: database,
            replacing: false)
    }

    static func busy(_ directory: String, holder: String) -> ReportError {
        .busy(
            "Another run writes into the report folder \(directory): \(holder). Nothing was "
                + "changed. Wait for it to end, or stop it.")
    }

    private static func refuse(
        _ owner: ReportFolderOwner?, in directory: String, unless database: ReportingDatabase,
        replacing: Bool
    ) throws(ReportError) {
        guard let owner else { return }
        let known = owner.path(from: directory)
        let named = known.map { "\($0) (\(owner.identity))" } ?? owner.identity
        let isSecond = known.map { FileSystem.isAnotherFile($0, than: database.path) } ?? false
        if owner.identity != database.identity {
            // A database that was made again before any correction was written has lost nothing.
            let isBeginning = ReportFolderOwner.ledgerIsEmpty(in: directory)
            if !isSecond, replacing || isBeginning { return }
            throw .otherDatabase(
                "The report folder \(directory) belongs to the database \(named), and "
                    + "\(database.path) (\(database.identity)) is another. Nothing was changed. "
                    + "Give each database its own report.directory. If this one was rebuilt in "
                    + "the place of the other, move that one away and declare it: \"trueup "
                    + "restored --reason TEXT\".")
        }
        guard isSecond else { return }
        throw .otherDatabase(
            "The report folder \(directory) belongs to the database \(named), of which "
                + "\(database.path) is a copy. Nothing was changed. Give the copy a report.directory "
                + "of its own; if it takes the other's place, move that one away first.")
    }

    /// Whether the lock was taken; one that is held is waited for only as long as a check of it
    /// takes.
    private func lock(_ path: String) throws(ReportError) -> Bool {
        _ = fchmod(descriptor, Self.mode)
        for attempt in 0..<5 {
            if attempt > 0 { usleep(50_000) }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
            guard errno == EWOULDBLOCK || errno == EINTR else {
                throw .cannotCreate(FileSystem.sentence("cannot lock", path, errno))
            }
        }
        return false
    }

    private func write(note: String) {
        let bytes = Array(note.utf8.prefix(Self.noteBytesLimit))
        guard ftruncate(descriptor, 0) == 0 else { return }
        _ = unsafe bytes.withUnsafeBytes {
            unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0)
        }
    }

    /// Who holds the lock, as its file says.
    static func note(in descriptor: Int32) -> String {
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: noteBytesLimit) {
            buffer, count in
            count = unsafe max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
        }
        return bytes.isEmpty
            ? "one that has not recorded its name yet" : String(decoding: bytes, as: UTF8.self)
    }
}

/// The database whose runs a report folder holds.
package struct ReportingDatabase: Hashable, Sendable {
    /// Made once with the database and never changed; a copy or a backup has the same.
    package var identity: String
    /// Of its file, or a URL where it is on a server.
    package var path: String

    package init(identity: String, path: String) {
        self.identity = identity
        self.path = path
    }
}

/// `database.json` of a report folder: whose runs it holds.
///
/// The path is written from the report folder, so that a copy of everything, a rehearsal, names its
/// own database and not the one that it was copied from.
struct ReportFolderOwner: Hashable {
    static let fileName = "database.json"

    var identity: String
    /// From the report folder, where both have their real names.
    var relativePath: String

    /// Reads the file; a folder of an earlier version has none, and `nil` says so.
    ///
    /// Where that file was lost, the newest manifest still names the database.
    static func read(in directory: String) throws(ReportError) -> ReportFolderOwner? {
        let path = directory + "/" + fileName
        guard FileSystem.entry(at: path) != .nothing else {
            let newest = directory + "/" + ReportFolder.latest + "/" + ReportFile.manifest
            return wire(ofFileAt: newest)?.database.map {
                ReportFolderOwner(identity: $0, relativePath: "")
            }
        }
        guard let wire = wire(ofFileAt: path), let identity = wire.database else {
            throw .cannotCreate(
                "\(path) cannot be read: it says which database the reports are of. Nothing was "
                    + "changed. Restore the file, or remove it to have it made from the newest "
                    + "manifest")
        }
        return ReportFolderOwner(identity: identity, relativePath: wire.path ?? "")
    }

    /// Whether no correction was ever written by a run of the folder.
    static func ledgerIsEmpty(in directory: String) -> Bool {
        let newest = directory + "/" + ReportFolder.latest + "/" + ReportFile.manifest
        return wire(ofFileAt: newest)?.ledgerHead == LedgerEntry.firstPreviousHash
    }

    func write(in directory: String) throws(ReportError) {
        let draft = directory + "/" + Self.fileName + ReportFolder.partialSuffix
        var file = try OutputFile(creating: draft)
        try file.write(
            CanonicalJSON.object([
                "database": .string(identity), "path": .string(relativePath),
            ]).rendered + "\n")
        _ = try file.close(named: Self.fileName)
        try FileSystem.rename(draft, to: directory + "/" + Self.fileName)
        try FileSystem.synchronize(folder: directory)
    }

    /// Where the database is that the file names, if it was written down.
    func path(from directory: String) -> String? {
        guard !relativePath.isEmpty else { return nil }
        guard !relativePath.hasPrefix("/"), !relativePath.hasPrefix("postgres:") else {
            return relativePath
        }
        return FileSystem.realPath(directory).map { Self.normal($0 + "/" + relativePath) }
    }

    /// The relative path from a folder to a file, both resolved; the file's own path where one of
    /// them has none.
    static func relativePath(of file: String, from directory: String) -> String {
        guard let target = FileSystem.realPath(file), let origin = FileSystem.realPath(directory)
        else { return file }
        let to = target.split(separator: "/")
        let from = origin.split(separator: "/")
        let shared = zip(to, from).prefix { $0 == $1 }.count
        let up = Array(repeating: Substring(".."), count: from.count - shared)
        return (up + to.dropFirst(shared)).joined(separator: "/")
    }

    private static func normal(_ path: String) -> String {
        var parts: [Substring] = []
        for part in path.split(separator: "/") {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.joined(separator: "/")
    }

    private static func wire(ofFileAt path: String) -> Wire? {
        FileSystem.contents(of: path).flatMap {
            try? JSONDecoder().decode(Wire.self, from: Data($0))
        }
    }

    private struct Wire: Decodable {
        var database: String?
        var path: String?
        var ledgerHead: String?

        enum CodingKeys: String, CodingKey {
            case database, path
            case ledgerHead = "ledger_head"
        }
    }
}
