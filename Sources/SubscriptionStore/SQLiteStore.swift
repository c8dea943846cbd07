import GRDB
package import Reconciliation
package import Subscriptions
import Synchronization

/// The company's rows and this job's bookkeeping in one SQLite file.
///
/// One connection writes; whatever streams reads over a connection of its own, so a reader never
/// keeps the job or the company's services waiting.
package final class SQLiteStore: Sendable {
    let file: DatabaseFile
    let access: StoreAccess
    let connection: DatabaseQueue
    /// Names the events that are written with corrections; `nil` when no receiver is configured.
    let naming: EventNaming?
    /// The company's own table, where the rows here are a copy of it.
    let company: CompanyLink?
    /// Where the books are a copy of those on a server.
    let mirror: BooksMirror?
    /// The entitlements that each product grants; `nil` where each is its own.
    let catalogue: ProductCatalogue?
    /// The stored bytes of keys that text does not carry, by what they read as (see
    /// `rows(after:limit:)`).
    ///
    /// There are hardly ever any; each belongs to a damaged row.
    let nonUTF8Keys = Mutex<[SubscriptionKey: StoredKey]>([:])
    let writeBackoff = WriteBackoff()
    /// One reading connection, kept from one reading to the next.
    ///
    /// A new connection reads and parses the whole schema first, which for a small report costs more
    /// than all its rows. Readings may be nested: one that finds no idle connection makes another.
    let idleReader = Mutex<DatabaseQueue?>(nil)
    /// How many corrections the next transaction takes, where the company's rows are here.
    let correctionBatch = Mutex(BatchSize(most: StoreLimits.correctionsPerBatch))

    private init(
        file: DatabaseFile, access: StoreAccess, connection: DatabaseQueue, naming: EventNaming?,
        company: CompanyLink? = nil, mirror: BooksMirror? = nil,
        catalogue: ProductCatalogue? = nil
    ) {
        self.file = file
        self.access = access
        self.connection = connection
        self.naming = naming
        self.company = company
        self.mirror = mirror
        self.catalogue = catalogue
    }

    /// The connection that writes closes last: only it puts the log into the file.
    deinit { try? takeIdleReader()?.close() }

    /// Makes the file and its tables; brings a trueup database up to this version and restores
    /// missing parts of its schema.
    ///
    /// The caller holds the run lock.
    ///
    /// - Returns: what was put back, in words.
    /// - Throws: `.schema` for a file that is something else: it is left as it is.
    @discardableResult
    package static func create(at path: String) throws(StoreError) -> [String] {
        let file = DatabaseFile(path: path)
        let check = SchemaCheck(path: path)
        guard file.exists else {
            try file.make()
            return []
        }
        do {
            // A foreign file must not even be turned to WAL mode: look before connecting to write.
            try check.refuse(file)
            let connection = try file.connectToWrite()
            let restored = try check.restore(connection)
            try check.migrate(connection)
            try check.refuseDamaged(file)
            try connection.close()
            return restored
        } catch {
            throw file.openingFailure(error, doing: "bringing the database \(path) up to date")
        }
    }

    /// Brings a database of an earlier version up to this one, under the run lock: a run of the
    /// earlier version must not find its tables changed while it works.
    ///
    /// A database that is missing, not trueup's or of this version is left as it is.
    ///
    /// - Parameters:
    ///   - path: The SQLite file.
    ///   - lock: Held by the caller.
    ///   - steps: The steps that this version knows.
    /// - Throws: `StoreError`, as `open` does.
    package static func bringUpToDate(
        at path: String, under lock: borrowing RunLock, by steps: [Migration] = Migration.all
    ) throws(StoreError) {
        guard try needsBringingUpToDate(at: path, by: steps) else { return }
        let file = DatabaseFile(path: path)
        let check = SchemaCheck(path: path, steps: steps)
        do {
            try check.refuseDamagedOlder(file)
            let connection = try file.connectToWrite()
            try check.migrate(connection)
            try connection.close()
        } catch {
            throw file.openingFailure(error, doing: "bringing the database \(path) up to date")
        }
    }

    /// Whether a database is of an earlier version; reads only.
    package static func needsBringingUpToDate(
        at path: String, by steps: [Migration] = Migration.all
    ) throws(StoreError) -> Bool {
        let file = DatabaseFile(path: path)
        let check = SchemaCheck(path: path, steps: steps)
        guard file.exists else { return false }
        if file.versionInHeader == check.newest { return false }
        do {
            return try check.refuse(file) < check.newest
        } catch {
            throw file.openingFailure(error, doing: "opening the database \(path)")
        }
    }

    /// Opens a database that exists.
    ///
    /// - Parameters:
    ///   - path: The SQLite file.
    ///   - access: Whether it may be written.
    ///   - naming: Names the event that goes into the outbox with a correction; without it no
    ///     correction is delivered.
    ///   - company: The company's own table, where the rows here are a copy of it: corrections are
    ///     written there as well.
    ///   - mirror: The server that the books are on, where the file is a copy of them: every
    ///     transaction is committed there as well, and first.
    ///   - catalogue: The entitlements that each product grants; `nil` where each is its own.
    ///   - setting: The setting that names the file, for the advice where there is none.
    /// - Returns: the open database; it closes with its last reference.
    /// - Throws: `.unavailable` when there is none, `.schema` when it is not trueup's, of another
    ///   version or changed, `.inconsistent` when the end of its ledger does not hold.
    package static func open(
        at path: String, access: StoreAccess, naming: EventNaming? = nil,
        company: CompanyLink? = nil, mirror: BooksMirror? = nil,
        catalogue: ProductCatalogue? = nil, namedBy setting: String = "store.url"
    ) throws(StoreError) -> SQLiteStore {
        let file = DatabaseFile(path: path)
        guard file.exists else {
            if let missing = file.missingFolder { throw .unavailable(missing) }
            throw .unavailable(
                "There is no database at \(path). Run `trueup init` to create it, correct "
                    + "`\(setting)`, or restore a backup if there was one.")
        }
        let check = SchemaCheck(path: path)
        do {
            guard access == .readWrite else {
                try check.refuseUnreadable(file)
                let connection = try file.connectToRead()
                try check.verify(connection)
                return SQLiteStore(
                    file: file, access: access, connection: connection, naming: nil,
                    catalogue: catalogue)
            }
            // A foreign or damaged file must not even be turned to WAL mode: look before that.
            let reader = try check.refuseDamaged(file)
            guard file.isWritable else {
                throw StoreError.notWritten(
                    "The database \(path) may not be written. Check the rights on the file.")
            }
            let connection = try file.connectToWrite()
            if let mirror {
                try mirror.watch(connection)
            } else {
                try connection.inDatabase { try BooksState.remove(from: $0) }
            }
            let store = SQLiteStore(
                file: file, access: access, connection: connection, naming: naming,
                company: company, mirror: mirror, catalogue: catalogue)
            store.giveBack(reader)
            return store
        } catch {
            throw file.openingFailure(error, doing: "opening the database \(path)")
        }
    }

    /// Closes the connection; nothing may be called afterwards.
    ///
    /// It closes by itself when the last reference goes.
    package func close() throws(StoreError) {
        try StoreError.translating("closing the database") {
            try takeIdleReader()?.close()
            try connection.close()
        }
    }
}

/// The access of a command to the database that it opens.
package enum StoreAccess: Hashable, Sendable {
    case readWrite
    /// Nothing of the file changes, not a byte, whatever state it was left in.
    case readOnly
}
