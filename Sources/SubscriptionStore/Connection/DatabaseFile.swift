import Foundation
import GRDB
package import Subscriptions

/// The database file on disk: how a connection to it is made.
struct DatabaseFile: Sendable {
    let path: String

    /// The size of the database, or of a file next to it; `nil` where there is none.
    private func bytes(of suffix: String = "") -> Int? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path + suffix)
        return attributes?[.size] as? Int
    }

    var exists: Bool { FileManager.default.fileExists(atPath: path) }

    var isWritable: Bool { FileManager.default.isWritableFile(atPath: path) }

    /// A file of no bytes: what a database becomes when its content is lost, never one of trueup's.
    var isEmpty: Bool { bytes() == 0 }

    /// A connection that writes, in WAL mode: the company's services read on meanwhile.
    ///
    /// Every commit is synced, because a report may name a ledger entry right after it. WAL is
    /// turned on here and not by GRDB's own setting: that one lowers `synchronous` to NORMAL after
    /// everything that a configuration can prepare, so that a power cut would take commits back.
    func connectToWrite(cacheKibibytes: Int = StoreLimits.cacheKibibytes) throws -> DatabaseQueue {
        let connection = try DatabaseQueue(
            path: path, configuration: Self.configuration(cacheKibibytes: cacheKibibytes))
        try connection.inDatabase { db in
            let mode = try db.text("PRAGMA journal_mode = WAL")
            guard mode == "wal" else {
                throw StoreError.schema(
                    "The database \(path) cannot be turned to WAL mode (it stays in mode "
                        + "\(mode ?? "unknown")): readers and the job would block each other. Move "
                        + "it to a local disk and correct `store` in the settings.")
            }
            try db.execute(sql: "PRAGMA synchronous = FULL")
            guard try Self.syncsEveryCommit(db) else {
                throw StoreError.inconsistent(
                    "SQLite does not sync every commit of \(path) although it should; nothing "
                        + "was written, because a power cut could undo it.")
            }
        }
        return connection
    }

    /// A connection that fills a file which no other process knows yet, and which is deleted where
    /// that fails: without a journal, and without a sync before `complete`.
    func connectToFill() throws -> DatabaseQueue {
        let connection = try DatabaseQueue(
            path: path,
            configuration: Self.configuration(
                cacheKibibytes: StoreLimits.loadingCacheKibibytes))
        try connection.inDatabase { db in
            try db.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        }
        return connection
    }

    /// Closes what `connectToFill` has opened, with all that was written in the file and on the
    /// disk.
    func complete(_ connection: DatabaseQueue) throws {
        try connection.inDatabase { db in try db.execute(sql: "PRAGMA journal_mode = WAL") }
        try connection.close()
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0, !FileManager.default.fileExists(atPath: path + "-wal") else {
            if descriptor >= 0 { Glibc.close(descriptor) }
            throw StoreError.notWritten(
                "The file \(path) could not be completed. See whether its disk is full; then run "
                    + "again.")
        }
        defer { Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw StoreError.notWritten(
                "The file \(path) could not be written to its disk: "
                    + "\(unsafe String(cString: strerror(errno))). Run again.")
        }
    }

    /// Whether a commit has reached the disk when it returns (`PRAGMA synchronous` FULL or EXTRA).
    static func syncsEveryCommit(_ db: Database) throws -> Bool {
        (try Int.fetchOne(db, sql: "PRAGMA synchronous") ?? 0) >= 2
    }

    /// A connection that leaves the file byte for byte as it is.
    ///
    /// SQLite needs the `-wal` and `-shm` files even to read. A read-only connection leaves them
    /// behind where there were none; a connection that could write but is told not to removes them
    /// when it closes. But where a log is left from a killed program, the latter would move it into
    /// the file on closing; there a read-only connection is the one that changes nothing.
    func connectToRead() throws -> DatabaseQueue {
        var configuration = Self.configuration(cacheKibibytes: StoreLimits.cacheKibibytes)
        // There is something in the write-ahead log.
        configuration.readonly = bytes(of: "-wal") ?? 0 > 0 || !isWritable
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA query_only = 1") }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    private static func configuration(cacheKibibytes: Int) -> Configuration {
        var configuration = Configuration()
        configuration.label = "trueup.store"
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(StoreLimits.busyTimeoutSeconds)
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA cache_size = -\(cacheKibibytes)")
        }
        return configuration
    }
}

extension DatabaseFile {
    /// Creates a database under a temporary name and renames it into place when it is complete.
    ///
    /// So there is never a file of no bytes that could be trueup's, and an empty file can be taken
    /// for what it is: a database that lost its content.
    func make() throws(StoreError) {
        let draft = path + "-new"
        do {
            for leftover in [draft, draft + "-wal", draft + "-shm"] {
                try? FileManager.default.removeItem(atPath: leftover)
            }
            let connection = try DatabaseFile(path: draft).connectToWrite()
            try SchemaCheck(path: path).migrate(connection)
            try SchemaCheck(path: path).verify(connection)
            try connection.close()
            guard unsafe rename(draft, path) == 0 else {
                throw StoreError.notWritten(
                    "The database cannot be moved to \(path): \(unsafe String(cString: strerror(errno))). "
                        + "Check the rights on its folder.")
            }
            syncFolder()
        } catch {
            let failure = StoreError(error, doing: "creating the database \(path)")
            guard case .unavailable(let text) = failure else { throw failure }
            throw .notWritten(text)
        }
    }

    /// The name lasts like the content; a file system that cannot sync folders has nothing to lose.
    private func syncFolder() {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let descriptor = unsafe Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}

/// The rights of this user to the database and to the files that SQLite keeps next to it.
extension DatabaseFile {
    /// Where the file itself lies: SQLite follows links before it looks for its log.
    private var realPath: String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }

    private var folder: String { URL(fileURLWithPath: realPath).deletingLastPathComponent().path }

    /// The message for a missing folder of the database; `nil` where it exists.
    var missingFolder: String? {
        guard !FileManager.default.fileExists(atPath: folder) else { return nil }
        return "The folder \(folder) of the database is not there. Nothing was changed. Correct "
            + "`store` in the settings, mount the folder, or run `trueup init`, which makes it with an empty database."
    }

    /// Refuses to read where that would leave files behind which the job's user cannot write.
    ///
    /// In WAL mode SQLite makes `-wal` and `-shm` even to read, for the user who reads. One who may
    /// not write the database leaves them there, and the next run of its owner ends at them. The
    /// process must have no other connection to it: closing a descriptor drops its locks.
    ///
    /// - Throws: `.notWritten`.
    func refuseLeavingFiles() throws(StoreError) {
        let path = realPath
        guard !isWritable, unsafe access(folder, W_OK | X_OK) == 0 else { return }
        let files = FileManager.default
        guard !files.fileExists(atPath: path + "-wal") || !files.fileExists(atPath: path + "-shm"),
            isInWALMode
        else { return }
        throw .notWritten(
            "The database \(path) may not be written by this user, and reading it would leave the "
                + "files \(path)-wal and \(path)-shm, which the user of the job could not write. "
                + "Nothing was made or changed. Use this command as the user of the job. If that is "
                + "this user: "
                + FileObstacle.fix(ofUnwritable: path, holdsRows: true) + ".")
    }

    /// By its header (https://sqlite.org/fileformat.html): `false` where that cannot be read.
    private var isInWALMode: Bool { header.dropFirst(19).first == 2 }

    /// The first bytes of the file, as far as they can be read; none where it cannot be opened.
    private var header: [UInt8] {
        let file = unsafe open(realPath, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var header = [UInt8](repeating: 0, count: Self.headerBytes)
        let read = unsafe header.withUnsafeMutableBytes {
            unsafe pread(file, $0.baseAddress, $0.count, 0)
        }
        return Array(header.prefix(max(0, read)))
    }

    /// How much of the header is read: up to the mark of the application.
    private static let headerBytes = 72

    /// The schema's version by the header of a database of trueup's, read without a connection;
    /// `nil` where that takes one: what a log holds is younger than the header, or older.
    ///
    /// Where this process has a connection there is a log as well: closing a descriptor drops no
    /// locks.
    var versionInHeader: Int? {
        let path = realPath
        let files = FileManager.default
        guard !["-wal", "-journal"].contains(where: { files.fileExists(atPath: path + $0) })
        else { return nil }
        let header = header
        func number(at offset: Int) -> Int {
            header[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        }
        guard header.count == Self.headerBytes, header.starts(with: "SQLite format 3\0".utf8),
            number(at: 68) == Migration.applicationID
        else { return nil }
        return number(at: 60)
    }

    /// Returns why an existing database could not be opened.
    func openingFailure(_ error: any Error, doing: String) -> StoreError {
        let refusals: [ResultCode] = [.SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM]
        guard let database = error as? DatabaseError, refusals.contains(database.resultCode),
            exists, isWritable
        else { return StoreError(error, doing: doing) }
        // The file is there and may be written: it is what SQLite keeps next to it.
        if let obstacle = FileObstacle.amongParts(ofDatabaseAt: realPath) {
            return .notWritten(
                "The database \(path) cannot be opened: \(obstacle.text). Nothing was changed. What "
                    + "to do: \(obstacle.fix).")
        }
        guard database.resultCode == .SQLITE_CANTOPEN else {
            return StoreError(error, doing: doing)
        }
        return .notWritten(
            "The files that belong to the database \(path) (-wal, -shm) cannot be made: "
                + causeOfMissingFiles)
    }

    private var causeOfMissingFiles: String {
        guard unsafe access(folder, W_OK | X_OK) == 0 else {
            let reason = unsafe String(cString: strerror(errno))
            return "nothing can be written to \(folder): \(reason). Nothing was changed. Give the "
                + "user of the job the right to write there, then run again."
        }
        var facts = statvfs()
        if unsafe statvfs(folder, &facts) == 0, facts.f_bavail == 0 || facts.f_favail == 0 {
            return "the disk of \(folder) is full. Nothing was changed. Make room, then run again."
        }
        return "the disk is full, or its folder cannot be written. Nothing was changed. Make "
            + "room or check the rights, then run again."
    }
}

/// The reason why a run could not use one of the files next to the database, and what to do about
/// it.
package struct FileObstacle: Hashable, Sendable {
    package let text: String
    /// As an imperative, without a full stop.
    package let fix: String

    /// The files that are part of the database: what was committed last is in its log alone.
    private static let partsOfDatabase = ["-wal", "-shm", "-journal"]
    private static let locks = ["-lock", "-tell-lock"]

    /// Returns what is in the way of a run among its own files and SQLite's; `nil` where nothing
    /// is.
    static func beside(_ path: String) -> FileObstacle? {
        (locks + partsOfDatabase).lazy.compactMap { at(path, $0) }.first
    }

    /// Returns the obstacle among the files of the database alone, without which it does not even
    /// open.
    static func amongParts(ofDatabaseAt path: String) -> FileObstacle? {
        partsOfDatabase.lazy.compactMap { at(path, $0) }.first
    }

    /// Returns what to do about a file that this user may not write.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - holdsRows: Whether it is the database or a part of it: moving a log away loses every
    ///     row that was committed since it was begun.
    /// - Returns: An imperative.
    package static func fix(ofUnwritable file: String, holdsRows: Bool) -> String {
        let right = "give the user of the job the right to write it (chown USER \(file))"
        return holdsRows ? "never move or delete it: it holds committed rows; \(right)" : right
    }

    private static func at(_ path: String, _ ending: String) -> FileObstacle? {
        let file = path + ending
        var status = stat()
        guard unsafe lstat(file, &status) == 0 else { return nil }
        if unsafe stat(file, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            return FileObstacle(
                text: "\(file) is in the way: it is not a file", fix: "move it away")
        }
        guard unsafe Glibc.access(file, R_OK | W_OK) != 0 else { return nil }
        return FileObstacle(
            text: "\(file) cannot be written: \(unsafe String(cString: strerror(errno)))",
            fix: fix(ofUnwritable: file, holdsRows: partsOfDatabase.contains(ending)))
    }
}

extension SQLiteStore {
    /// Returns why a run could not use one of the files next to the database: its locks and its
    /// log.
    ///
    /// Nothing is made or changed.
    ///
    /// - Parameter path: The database.
    /// - Returns: `nil` where it could.
    package static func obstacle(besideDatabaseAt path: String) -> FileObstacle? {
        FileObstacle.beside(URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
    }
}

extension SQLiteStore {
    /// The identity of this database, made once with it and never changed.
    package func databaseIdentity() throws(StoreError) -> String {
        try view("reading the database's identity", Self.databaseIdentity)
    }

    static func databaseIdentity(_ db: Database) throws -> String {
        guard let identity = try db.text("SELECT id FROM trueup_database") else {
            throw StoreError.inconsistent(
                "The database has lost its identity (the table `trueup_database` is empty). "
                    + "Restore a backup.")
        }
        return identity
    }
}
