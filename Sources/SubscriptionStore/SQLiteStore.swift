import GRDB
package import Subscriptions

/// The company's rows and this job's bookkeeping in one SQLite file.
///
/// One connection writes; whatever streams reads over a connection of its own, so a reader never
/// keeps the job or the company's services waiting.
package final class SQLiteStore: ReconciliationStore {
    let file: DatabaseFile
    let access: StoreAccess
    let connection: DatabaseQueue
    /// Names the events that are written with corrections; `nil` when nobody is told of any.
    let naming: EventNaming?
    /// Keys that cannot be spelled as text, by what they read as; see `rows(after:limit:in:)`.
    let unspeakableKeys = UnspeakableKeys()

    private init(
        file: DatabaseFile, access: StoreAccess, connection: DatabaseQueue, naming: EventNaming?
    ) {
        self.file = file
        self.access = access
        self.connection = connection
        self.naming = naming
    }

    /// Makes the file and its tables; brings a database of ours up to this version.
    ///
    /// - Throws: `.schema` for a file that is something else: it is left as it is.
    package static func create(at path: String) throws(StoreError) {
        let file = DatabaseFile(path: path)
        do {
            // A foreign file must not even be turned to WAL mode: look before connecting to write.
            if file.exists { try SchemaCheck(path: path).refuse(file) }
            let connection = try file.connectToWrite()
            try SchemaCheck(path: path).migrate(connection)
            try SchemaCheck(path: path).verify(connection)
            try connection.close()
        } catch {
            let failure = StoreError(error, doing: "creating the database \(path)")
            guard case .unavailable(let text) = failure else { throw failure }
            throw .notWritten(text)
        }
    }

    /// Opens a database that exists.
    ///
    /// - Parameters:
    ///   - path: The SQLite file.
    ///   - access: Whether it may be written.
    ///   - naming: Names the event that goes into the outbox with a correction; without it no
    ///     correction is told to anybody.
    /// - Returns: the open database; it closes with its last reference.
    /// - Throws: `.unavailable` when there is none, `.schema` when it is not ours, of a newer
    ///   version or changed.
    package static func open(
        at path: String, access: StoreAccess, naming: EventNaming? = nil
    ) throws(StoreError) -> SQLiteStore {
        let file = DatabaseFile(path: path)
        guard file.exists else {
            throw .unavailable(
                "There is no database at \(path). Run `trueup init` to create it, or correct "
                    + "`store.url`.")
        }
        let check = SchemaCheck(path: path)
        do {
            guard access == .readWrite else {
                let connection = try file.connectToRead()
                try check.verify(connection)
                return SQLiteStore(
                    file: file, access: access, connection: connection, naming: nil)
            }
            try check.refuse(file)
            guard file.isWritable else {
                throw StoreError.notWritten(
                    "The database \(path) may not be written. Check the rights on the file.")
            }
            let connection = try file.connectToWrite()
            try check.migrate(connection)
            try check.verify(connection)
            return SQLiteStore(
                file: file, access: access, connection: connection, naming: naming)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CANTOPEN {
            // The file is there and may be written: it is what SQLite keeps beside it.
            throw .notWritten(
                "The files that belong to the database \(path) (-wal, -shm) cannot be made: the "
                    + "disk is full, or nobody may write to its folder. Nothing was changed. Make "
                    + "room or check the rights, then run again.")
        } catch {
            throw StoreError(error, doing: "opening the database \(path)")
        }
    }

    /// Closes the connection; nothing may be called afterwards.
    ///
    /// It closes by itself when the last reference goes.
    package func close() throws(StoreError) {
        do {
            try connection.close()
        } catch {
            throw StoreError(error, doing: "closing the database")
        }
    }
}
