import Foundation
import GRDB
import Subscriptions

/// The database file on disk: how a connection to it is made.
struct DatabaseFile: Sendable {
    let path: String

    /// The size of the write-ahead log beside it; 0 when there is none.
    private var logBytes: Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path + "-wal")
        return (attributes?[.size] as? Int) ?? 0
    }

    var exists: Bool { FileManager.default.fileExists(atPath: path) }

    var isWritable: Bool { FileManager.default.isWritableFile(atPath: path) }

    /// A file of no bytes: what a database becomes when its content is lost, never one of ours.
    var isEmpty: Bool {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.size] as? Int) == 0
    }

    /// A connection that writes, in WAL mode: the company's services read on meanwhile.
    ///
    /// Every commit is synced, because a report may name a ledger entry right after it. WAL is
    /// turned on here and not by GRDB's own setting: that one lowers `synchronous` to NORMAL after
    /// everything that a configuration can prepare, so that a power cut would take commits back.
    func connectToWrite(cacheKibibytes: Int = StoreLimits.cacheKibibytes) throws -> DatabaseQueue {
        let connection = try DatabaseQueue(
            path: path, configuration: Self.configuration(cacheKibibytes: cacheKibibytes))
        try connection.inDatabase { db in
            let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
            guard mode == "wal" else {
                throw StoreError.schema(
                    "The database \(path) cannot be turned to WAL mode (it stays in mode "
                        + "\(mode ?? "unknown")): readers and the job would block each other. Move "
                        + "it to a local disk and correct `store.url`.")
            }
            try db.execute(sql: "PRAGMA synchronous = FULL")
            guard try Self.syncsEveryCommit(db) else {
                throw StoreError.inconsistent(
                    "SQLite does not sync every commit of \(path) although it was told to; nothing "
                        + "was written, because a power cut could take it back.")
            }
        }
        return connection
    }

    /// A connection that fills a file which nobody else knows yet, and which is thrown away where that
    /// fails: without a journal, and without a sync before `complete`.
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

    /// Closes what `connectToFill` has opened, with all that was written in the file and on the disk.
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
        configuration.readonly = logBytes > 0 || !isWritable
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

/// Creates a database under a temporary name and renames it into place when it is complete.
///
/// So there is never a file of no bytes that could be ours, and an empty file can be taken for what
/// it is: a database that lost its content.
struct NewDatabase {
    let path: String

    private var draft: String { path + "-new" }

    func make() throws(StoreError) {
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
