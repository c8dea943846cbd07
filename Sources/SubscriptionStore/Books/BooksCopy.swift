import Foundation
import GRDB
package import Subscriptions

/// The file in which a machine works on books that are on a server.
///
/// It may be deleted at any time between two runs: the next command makes it again.
package struct BooksCopy: Sendable {
    let path: String
    let server: any BooksServer
    private let mayContinue: @Sendable (_ rows: Int64) -> Bool

    /// - Parameters:
    ///   - path: The file.
    ///   - server: Where the books are.
    ///   - mayContinue: Called after each page with how many rows were copied; `false` stops.
    package init(
        path: String, server: any BooksServer,
        whileAllowed mayContinue: @escaping @Sendable (_ rows: Int64) -> Bool = { _ in true }
    ) {
        self.path = path
        self.server = server
        self.mayContinue = mayContinue
    }

    /// Some megabytes where the rows are payloads, and a transaction of less than 100 ms.
    private static let rowsPerPage = 1000

    /// Makes the file as the books on the server are, unless it is.
    ///
    /// - Parameter lock: Held by the caller.
    /// - Returns: Their state; of an earlier version where its schema is less than `Migration.newest`.
    /// - Throws: `.unavailable` where no books are there, `.schema` where the file is no copy of
    ///   these: it is left as it is; `.stopped` where it may not continue.
    @discardableResult
    package func bringUpToDate(under lock: borrowing RunLock) throws(StoreError) -> BooksState {
        guard let state = try server.state() else { throw missing }
        guard try mark(ofBooks: state.identity) != state else { return state }
        let draft = path + "-fetched"
        do {
            // Not next to it: there may be no room for both. Its log goes before a new file has its
            // name.
            for name in Self.files(of: path) { try remove(name) }
            let made = try server.reading { reading in
                guard let state = reading.state else { throw missing }
                try make(draft, of: reading, as: state)
                return state
            }
            guard unsafe rename(draft, path) == 0 else { throw notMoved }
            return made
        } catch {
            for name in Self.files(of: draft) { unsafe unlink(name) }
            throw StoreError(
                error, doing: "reading trueup's database from \(server.place) into \(path)")
        }
    }

    /// Whether the file is as the books on the server are.
    ///
    /// - Throws: `.unavailable` where the server holds no books, or does not answer.
    package func isCurrent() throws(StoreError) -> Bool {
        guard let state = try server.state() else { throw missing }
        return try mark(ofBooks: state.identity) == state
    }

    /// Whether the server holds books.
    package func hasBooksOnServer() throws(StoreError) -> Bool { try server.state() != nil }

    /// Puts the file's books on the server, in place of those that are there.
    ///
    /// Killed meanwhile, those that were there are there still.
    ///
    /// - Parameter lock: Held by the caller, who has claimed the books.
    /// - Throws: `StoreError`.
    package func place(under lock: borrowing RunLock) throws(StoreError) {
        let doing = "putting trueup's database on their server"
        do {
            let connection = try DatabaseFile(path: path).connectToWrite()
            let identity = try connection.read { db in
                try String.fetchOne(db, sql: "SELECT id FROM trueup_database") ?? ""
            }
            // As in every copy that is made of books on a server.
            try connection.write { db in
                try OptionalColumns.add(SubscriptionField.optional, to: db)
            }
            var state = try server.begin(identity: identity, schema: Migration.newest)
            let tables = try connection.read(BooksTable.all)
            for table in tables {
                var last: [BooksValue]?
                repeat {
                    let rows = try connection.read { [last] db in
                        try Self.rows(of: table, after: last, db)
                    }
                    last = rows.count < Self.rowsPerPage ? nil : rows.last.map(table.key(of:))
                    guard !rows.isEmpty else { continue }
                    state = try server.commit([BooksChange(table: table, rows: rows)], to: state)
                } while last != nil
            }
            // First here: killed in between, the file is a copy of what never came to count.
            try connection.write { [state] db in try state.store(in: db) }
            try server.conclude(state)
            try connection.close()
        } catch {
            throw StoreError(error, doing: doing)
        }
    }

    private var missing: StoreError {
        .unavailable(
            "trueup has no database in \(server.place). Nothing was changed. Run `trueup init`: it "
                + "makes one, or puts the one in \(path) there, if there is one. Or correct `store`, or "
                + "restore the database of the server.")
    }

    /// Which state the file is a copy of; `nil` where there is none, or where an earlier program made
    /// it without a column that this one has.
    ///
    /// - Throws: `.schema` for every file that is not known to be a copy of these books: nothing
    ///   else may be replaced.
    private func mark(ofBooks identity: String) throws(StoreError) -> BooksState? {
        try requireRegularFile()
        let file = DatabaseFile(path: path)
        guard file.exists, !file.isEmpty else { return nil }
        let (state, own, isWhole): (BooksState?, String?, Bool)
        do {
            (state, own, isWhole) = try file.connectToRead().read { db in
                guard try db.tableExists("trueup_books_copy") else { return (nil, nil, false) }
                let own = try String.fetchOne(db, sql: "SELECT id FROM trueup_database")
                let isWhole = try OptionalColumns.present(db) == SubscriptionField.optional
                return (try BooksState.stored(in: db), own, isWhole)
            }
        } catch let error as DatabaseError
            where [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode)
        {
            throw .schema(
                "\(path) is damaged or not a database, so trueup cannot tell whether it is the local "
                    + "cache of \(server.place). It was not changed. Move it away: trueup makes the "
                    + "cache again. \(StoreError.quote(error))")
        } catch {
            throw file.openingFailure(error, doing: "reading the local cache at \(path)")
        }
        guard let state, state.identity == identity else {
            throw own == identity ? changedInThisFile : foreign
        }
        return isWhole ? state : nil
    }

    /// Refuses a device, a folder or a link, which making the copy would remove.
    private func requireRegularFile() throws(StoreError) {
        var facts = stat()
        guard unsafe lstat(path, &facts) == 0, facts.st_mode & S_IFMT != S_IFREG else { return }
        throw .schema(
            "\(path) is not a regular file, so it cannot be the local cache of \(server.place). It was "
                + "not changed. Name a file in `store.copy`; of a link, the file that it leads to.")
    }

    private var foreign: StoreError {
        .schema(
            "\(path) is a database of its own, not the local cache of \(server.place). It was not "
                + "changed. To work with the one on the server, name another file in `store.copy`, or "
                + "move this one away. To put this one on the server as well, give it a name of its own "
                + "in `store.books` (postgres:NAME) and run `trueup init`.")
    }

    private var changedInThisFile: StoreError {
        .schema(
            "\(path) has changes of the database in \(server.place) that only this file has. It was "
                + "not changed. If the file is right, delete the line of that database in the table "
                + "trueup.books and run `trueup init`, which puts the file there. If the server is right, "
                + "move the file away.")
    }

    private static func rows(
        of table: BooksTable, after key: [BooksValue]?, _ db: Database
    ) throws -> [[BooksValue]] {
        let names = table.columns.map(\.name).joined(separator: ", ")
        let order = table.key.joined(separator: ", ")
        let marks = table.key.map { _ in "?" }.joined(separator: ", ")
        let position = key == nil ? "" : "WHERE (\(order)) > (\(marks))"
        return try Row.fetchAll(
            db,
            sql: """
                SELECT \(names) FROM main.\(table.name) \(position) ORDER BY \(order)
                LIMIT \(rowsPerPage)
                """, arguments: StatementArguments((key ?? []).map(\.stored))
        ).map { Array($0.databaseValues).map(BooksValue.init) }
    }
}

// MARK: - Making the file

extension BooksCopy {
    private func make(_ draft: String, of reading: any BooksReading, as state: BooksState) throws {
        guard state.schema <= Migration.newest else {
            throw StoreError.schema(
                "A newer trueup wrote the database in \(server.place) (schema \(state.schema); this "
                    + "version knows \(Migration.newest)). Nothing was changed. Use the newer version."
            )
        }
        for leftover in Self.files(of: draft) { try remove(leftover) }
        // It holds customers' rows: for its owner alone, and so are the files that SQLite puts next
        // to it.
        let descriptor = unsafe open(draft, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw notMoved }
        close(descriptor)
        let file = DatabaseFile(path: draft)
        let connection = try file.connectToFill()
        try SchemaCheck(path: path).migrate(connection, to: state.schema)
        // Triggers hold for what is written, not for what is copied.
        let triggers = try connection.write { db in
            try OptionalColumns.add(SubscriptionField.optional, to: db)
            return try Self.dropTriggers(db)
        }
        let tables = try connection.read(BooksTable.all)
        var rows: Int64 = 0
        for table in tables { try fill(table, of: reading, connection, &rows) }
        try connection.write { db in
            try db.execute(sql: "DELETE FROM trueup_database")
            try db.execute(
                sql: "INSERT INTO trueup_database VALUES (?)", arguments: [state.identity])
            // As a reading of the company's table that met these rows once.
            try db.execute(
                sql: """
                    INSERT INTO trueup_company_rows
                    SELECT bundle_id, environment, original_transaction_id, 0, NULL
                    FROM subscriptions WHERE EXISTS (SELECT 1 FROM trueup_company)
                    """)
            for trigger in triggers { try db.execute(sql: trigger) }
            try state.store(in: db)
        }
        try file.complete(connection)
    }

    private static func dropTriggers(_ db: Database) throws -> [String] {
        let triggers = try Row.fetchAll(
            db, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).map { (name: $0.requiredText(at: 0), sql: $0.requiredText(at: 1)) }
        for trigger in triggers { try db.execute(sql: "DROP TRIGGER \(trigger.name)") }
        return triggers.map(\.sql)
    }

    private func fill(
        _ table: BooksTable, of reading: any BooksReading, _ connection: DatabaseQueue,
        _ copied: inout Int64
    ) throws {
        let names = table.columns.map(\.name).joined(separator: ", ")
        let marks = table.columns.map { _ in "?" }.joined(separator: ", ")
        try connection.write { db in try db.execute(sql: "DELETE FROM \(table.name)") }
        var last: [BooksValue]?
        repeat {
            let rows = try reading.rows(of: table, after: last, limit: Self.rowsPerPage)
            try connection.write { db in
                let insert = try db.cachedStatement(
                    sql: "INSERT INTO \(table.name) (\(names)) VALUES (\(marks))")
                for row in rows {
                    try insert.execute(arguments: StatementArguments(row.map(\.stored)))
                }
            }
            copied &+= Int64(rows.count)
            guard mayContinue(copied) else {
                throw StoreError.stopped(
                    "max_duration ended while the run read the database in \(server.place) into "
                        + "\(path), after \(copied) rows. Apple was not asked, nothing was changed, and "
                        + "there is no report. The next run reads it from the beginning: give it a "
                        + "longer max_duration, or keep the file between two runs.")
            }
            last = rows.count < Self.rowsPerPage ? nil : rows.last.map(table.key(of:))
        } while last != nil
    }

    /// A database and what SQLite puts next to it.
    private static func files(of path: String) -> [String] {
        ["", "-wal", "-shm"].map { path + $0 }
    }

    private func remove(_ name: String) throws(StoreError) {
        guard unsafe unlink(name) == 0 || errno == ENOENT else { throw notMoved }
    }

    private var notMoved: StoreError {
        .notWritten(
            "The local cache of trueup's database cannot be written to \(path): "
                + "\(unsafe String(cString: strerror(errno))). Check the rights on its folder.")
    }
}
