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

    /// A connection that writes, in WAL mode: the company's services read on meanwhile.
    ///
    /// Every commit is synced, because a report may name a ledger entry right after it.
    func connectToWrite(cacheKibibytes: Int = StoreLimits.cacheKibibytes) throws -> DatabaseQueue {
        var configuration = Self.configuration(cacheKibibytes: cacheKibibytes)
        configuration.journalMode = .wal
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = FULL") }
        return try DatabaseQueue(path: path, configuration: configuration)
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
