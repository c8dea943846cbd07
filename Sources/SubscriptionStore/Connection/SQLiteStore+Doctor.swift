import GRDB
package import Subscriptions

/// What `trueup doctor` asks of a database that opened.
extension SQLiteStore {
    /// Whether what this connection commits has reached the disk when the commit returns.
    package func syncsEveryCommit() async throws(StoreError) -> Bool {
        try await withoutTransaction("reading how commits are synced") { db in
            try DatabaseFile.syncsEveryCommit(db)
        }
    }

    /// What `run` would refuse the database for, though it can be read.
    package func refuseDamaged() throws(StoreError) {
        do {
            try SchemaCheck(path: file.path).refuseDamaged(file)
        } catch {
            throw StoreError(error, doing: "checking the database")
        }
    }

    /// For example `wal` or `delete`.
    package func journalMode() async throws(StoreError) -> String {
        try await read("reading the journal mode") { db in
            try String.fetchOne(db, sql: "PRAGMA journal_mode") ?? ""
        }
    }
}
