import Foundation
import GRDB
package import Subscriptions

/// The company's own table in an SQLite file of its own.
///
/// Its journal mode and everything else of the file stay as they are; only mapped columns and our
/// ledger `trueup_corrections` are written.
package final class SQLiteCompanyDatabase: CompanyDatabase {
    let path: String
    let mapping: TableMapping
    /// The books that correct it; `nil` for a look that takes no side.
    let books: LedgerOwner?
    let statements: MappedStatements
    /// The statements for the table of purchases; `nil` where it is not here.
    let ofPurchases: MappedStatements?
    /// The statements for the table of entitlements; `nil` where none is kept.
    let entitlements: EntitlementStatements?
    let connection: DatabaseQueue

    /// Opens a file that exists.
    ///
    /// - Parameters:
    ///   - path: The company's file.
    ///   - mapping: How its table is read.
    ///   - books: The books that correct it; `nil` for a look that takes no side.
    /// - Throws: `.unavailable` where there is no such file, `.schema` where it is not a database.
    package init(
        path: String, mapping: TableMapping, books: LedgerOwner? = nil
    ) throws(StoreError) {
        self.path = path
        self.books = books
        self.mapping = mapping
        statements = MappedStatements(mapping, for: .sqlite)
        ofPurchases = mapping.purchases.map { MappedStatements($0, for: .sqlite) }
        entitlements = mapping.entitlements.map { EntitlementStatements($0, for: .sqlite) }
        connection = try Self.connect(path)
    }

    static func connect(_ path: String) throws(StoreError) -> DatabaseQueue {
        guard DatabaseFile(path: path).exists else {
            throw .unavailable(
                "There is no file \(path) with your table. Nothing was read or written. Correct "
                    + "`store.url`.")
        }
        var configuration = Configuration()
        configuration.label = "trueup.company"
        configuration.foreignKeysEnabled = true
        configuration.busyMode = .timeout(StoreLimits.busyTimeoutSeconds)
        // A transaction goes over several calls of the port.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA cache_size = -\(StoreLimits.cacheKibibytes)")
            try db.execute(sql: "PRAGMA synchronous = FULL")
        }
        return try StoreError.translating("opening \(path)") {
            try DatabaseQueue(path: path, configuration: configuration)
        }
    }

    func perform<Value>(
        _ doing: String, _ body: (Database) throws -> Value
    ) throws(StoreError) -> Value {
        try StoreError.translating(doing) { try connection.inDatabase(body) }
    }
}

extension SQLiteCompanyDatabase {
    private func statements(of table: MappedTable) -> MappedStatements? {
        table == .subscriptions ? statements : ofPurchases
    }

    package func rows(
        of table: MappedTable = .subscriptions, after cursor: CompanyCursor?, limit: Int,
        of apps: [AppIdentity]? = nil
    ) throws(StoreError) -> CompanyPage {
        guard let statements = statements(of: table) else {
            return CompanyPage(rows: [], next: nil)
        }
        let statement = statements.page(after: cursor, limit: limit &+ 1, of: apps)
        let found = try texts(statement, doing: "reading the table \(statements.mapping.table)")
        return CompanyPage(of: found, limit: limit, by: statements)
    }

    package func keylessRows(
        of table: MappedTable = .subscriptions, of apps: [AppIdentity]? = nil
    ) throws(StoreError) -> KeylessRows {
        guard let statements = statements(of: table),
            let statement = statements.keyless(of: apps)
        else { return KeylessRows() }
        let doing = "counting rows without a key in \(statements.mapping.table)"
        return statements.keyless(of: try texts(statement, doing: doing).first)
    }

    package func row(_ key: SubscriptionKey) throws(StoreError) -> CompanyRow? {
        guard let statement = statements.row(key) else { return nil }
        return try texts(statement, doing: "reading a row of \(mapping.table)").first
            .map(mapping.row)
    }

    package func number(of query: String) throws(StoreError) -> Double {
        do throws(StoreError) {
            let found = try perform("running the query of store.max_load") { db in
                let statement = try db.makeStatement(sql: query)
                guard statement.isReadonly else { return [[String?]]() }
                return try Row.fetchAll(statement).map { row in
                    (0..<row.count).map { row.text(at: $0) }
                }
            }
            return try LoadLimit.number(in: found)
        } catch {
            throw LoadLimit.error(error, said: nil)
        }
    }

    package func apps(besides apps: [AppIdentity]) throws(StoreError) -> [[String?]] {
        guard let statement = statements.apps(besides: apps) else { return [] }
        return try texts(statement, doing: "looking for the apps of \(mapping.table)")
    }

    package func rows(
        holding id: String, in apps: [[String?]]
    ) throws(StoreError) -> [CompanyRow] {
        guard let statement = statements.rows(holding: id, in: apps) else { return [] }
        return try texts(
            statement, doing: "looking for rows of a subscription in \(mapping.table)"
        ).map(mapping.row)
    }

    package func begin() throws(StoreError) {
        try perform("beginning to write to \(mapping.table)") { db in
            try db.beginTransaction(.immediate)
        }
    }

    package func write(_ change: CompanyChange) throws(StoreError) -> CompanyWriteFate {
        try perform("changing a row of \(mapping.table)") { db in
            var fate = CompanyWriteFate.stale
            do {
                try db.inSavepoint {
                    fate = try make(change, db)
                    return fate.isApplied ? .commit : .rollback
                }
            } catch let refused as RowRefused {
                // A trigger may take more back than what it refuses.
                return db.isInsideTransaction ? .refused(refused.reason) : .undone(refused.reason)
            }
            return fate
        }
    }

    private func make(_ change: CompanyChange, _ db: Database) throws -> CompanyWriteFate {
        guard let statements = statements(of: change.table), let read = statements.row(change.key)
        else {
            return .refused("the key is not one that the mapping's constants allow")
        }
        let standing = try Self.texts(read, db)
        guard standing.count < 2 else { return .refused("several rows have its key") }
        switch statements.write(change, standing: standing.first) {
        case .stale: return .stale
        case .refused(let why): return .refused(why)
        case .nothing:
            return .applied(
                version: standing.first.flatMap { statements.mapping.row(of: $0).version })
        case .execute(let statement):
            if let look = statements.rowOfTransaction(change), try !Self.texts(look, db).isEmpty {
                return .refused(MappedStatements.transactionIsThere)
            }
            try execute(statement, db)
            return statements.fate(
                of: change, affected: db.changesCount, from: standing.first,
                to: try Self.texts(read, db))
        }
    }

    /// Whatever is wrong with this one statement is about its row: those that read it were well.
    func execute(_ statement: MappedStatement, _ db: Database) throws {
        do {
            try db.executeCached(
                statement.sql, StatementArguments(statement.arguments.map(\.bound)))
        } catch let error as DatabaseError where Self.isOfOneRow(error) {
            throw RowRefused(reason: error.message ?? "an error of SQLite")
        }
    }

    /// A trigger's function or table may be missing, as those of a service's own session are here.
    private static func isOfOneRow(_ error: DatabaseError) -> Bool {
        [.SQLITE_CONSTRAINT, .SQLITE_ERROR, .SQLITE_MISMATCH, .SQLITE_TOOBIG]
            .contains(error.resultCode)
    }

    /// The company's database refuses one change.
    struct RowRefused: Error {
        let reason: String
    }

    package func append(_ entry: CompanyLedgerEntry) throws(StoreError) {
        try perform("writing to the ledger next to \(mapping.table)") { db in
            try db.executeCached(
                "INSERT INTO \(Self.ledger) VALUES (?, ?, ?, ?, ?)",
                [
                    entry.number, entry.digest, entry.run, entry.writtenAt.unixMilliseconds,
                    entry.content,
                ])
        }
    }

    package func commit(
        keeping entitlements: [CompanyEntitlementChange] = []
    ) throws(StoreError) -> CommitOutcome {
        try perform("committing to \(path)") { db in
            do {
                if let words = try keep(entitlements, db) {
                    if db.isInsideTransaction { try db.rollback() }
                    return .refused(words)
                }
                try db.commit()
                return .committed
            } catch {
                // SQLite keeps a transaction open that others or a deferred constraint kept from
                // its end.
                if db.isInsideTransaction { try? db.rollback() }
                guard let error = error as? DatabaseError,
                    error.resultCode == .SQLITE_CONSTRAINT
                else { throw error }
                return .refused(error.message ?? "a constraint")
            }
        }
    }

    package func rollBack() {
        try? connection.inDatabase { db in
            if db.isInsideTransaction { try db.rollback() }
        }
    }

    package func entries(
        after number: Int64, limit: Int
    ) throws(StoreError) -> [CompanyLedgerEntry] {
        try perform("reading the ledger next to \(mapping.table)") { db in
            guard try db.tableExists(Self.ledger) else { return [] }
            return try db.rows(
                """
                SELECT entry, digest, run_id, content, written_at FROM \(Self.ledger)
                WHERE entry > ? ORDER BY entry LIMIT ?
                """, [number, limit]
            ).map { row in
                CompanyLedgerEntry(
                    number: row.integer(at: 0) ?? 0, digest: row.requiredText(at: 1),
                    run: row.requiredText(at: 2), content: row.requiredText(at: 3),
                    writtenAt: row.requiredTime(at: 4))
            }
        }
    }

    private func texts(
        _ statement: MappedStatement, doing: String
    ) throws(StoreError) -> [[String?]] {
        try perform(doing) { db in try Self.texts(statement, db) }
    }

    private static func texts(_ statement: MappedStatement, _ db: Database) throws -> [[String?]] {
        var found: [[String?]] = []
        try db.forEachRow(
            cached: statement.sql, StatementArguments(statement.arguments.map(\.bound))
        ) { row in found.append((0..<row.count).map { row.text(at: $0) }) }
        return found
    }
}

extension CompanyWriteFate {
    var isApplied: Bool {
        if case .applied = self { true } else { false }
    }
}

extension CompanyLiteral {
    /// As it is bound to a statement of SQLite.
    fileprivate var bound: (any DatabaseValueConvertible)? {
        switch self {
        case .null: nil
        case .text(let text): text
        case .integer(let number): number
        case .boolean(let truth): truth ? 1 : 0
        }
    }
}

/// Our ledger in the company's file, and whose it is.
///
/// Entries are numbered by the books that write them, so two books in one ledger would each take
/// the other's entries for their own.
extension SQLiteCompanyDatabase {
    /// The table of our ledger in the company's file.
    static let ledger = "trueup_corrections"
    /// Whose it is: the row with the greatest number says so, the others said so before.
    private static let owners = "trueup_books"

    /// Throws `.schema` where the ledger is that of other books.
    func refuseOtherBooks() throws(StoreError) {
        guard let books else { return }
        let owner = try perform("reading whose ledger is in \(path)") { db in
            try Self.owner(db)
        }
        guard let owner, owner.identity != books.identity else { return }
        throw .schema(
            "The ledger `\(Self.ledger)` in \(path) belongs to another database of trueup's, "
                + "\(owner.path). Nothing was read or written. Name that one in `store.books`: two "
                + "databases would correct rows without knowing of each other. If it is lost, declare "
                + "with `trueup restored --reason TEXT` that \(books.path) replaces it.")
    }

    /// Makes the ledger where there is none, and notes whose it is.
    func makeLedger() throws(StoreError) {
        try perform("making the ledger in \(path)") { [books] db in
            if try db.tableExists(Self.ledger) {
                let columns = try db.columns(in: Self.ledger).map(\.name)
                guard columns == ["entry", "digest", "run_id", "written_at", "content"] else {
                    throw StoreError.schema(
                        "The table `\(Self.ledger)` of \(self.path) is not a ledger of trueup. Nothing was "
                            + "read or written. Rename the table.")
                }
                guard try books != nil && Self.owner(db) == nil else { return }
            }
            try db.inTransaction(.immediate) {
                try db.execute(
                    sql: """
                        CREATE TABLE IF NOT EXISTS \(Self.ledger) (
                            entry INTEGER PRIMARY KEY,
                            digest TEXT NOT NULL,
                            run_id TEXT NOT NULL,
                            written_at INTEGER NOT NULL,
                            content TEXT NOT NULL
                        )
                        """)
                if let books, try Self.owner(db) == nil {
                    try Self.note(books, db)
                }
                return .commit
            }
        }
    }

    package func adoptLedger(
        reason: String, by actor: String, at now: Timestamp
    ) throws(StoreError) -> String? {
        guard let books else { return nil }
        return try perform("declaring whose ledger is in \(path)") { db in
            var former: String?
            try db.inTransaction(.immediate) {
                guard let owner = try Self.owner(db), owner.identity != books.identity else {
                    return .rollback
                }
                former = owner.path
                try Self.note(books, reason: reason, by: actor, at: now, db)
                return .commit
            }
            return former
        }
    }

    private static func owner(_ db: Database) throws -> LedgerOwner? {
        guard try db.tableExists(owners) else { return nil }
        return try db.row("SELECT identity, path FROM \(owners) ORDER BY number DESC LIMIT 1").map {
            LedgerOwner(identity: $0.requiredText(at: 0), path: $0.requiredText(at: 1))
        }
    }

    private static func note(
        _ books: LedgerOwner, reason: String? = nil, by actor: String? = nil,
        at now: Timestamp? = nil, _ db: Database
    ) throws {
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS \(owners) (
                    number INTEGER PRIMARY KEY,
                    identity TEXT NOT NULL,
                    path TEXT NOT NULL,
                    declared_at INTEGER,
                    reason TEXT,
                    actor TEXT
                )
                """)
        try db.execute(
            sql: """
                INSERT INTO \(owners) (identity, path, declared_at, reason, actor)
                VALUES (?, ?, ?, ?, ?)
                """,
            arguments: [books.identity, books.path, now?.unixMilliseconds, reason, actor])
    }
}

extension SQLiteCompanyDatabase {
    package func check(mayWrite: Bool) throws(StoreError) {
        for mapping in mapping.all { try check(mapping, mayWrite: mayWrite) }
        if let obstacle = try obstacleToEntitlements(mayWrite: mayWrite) { throw .schema(obstacle) }
        try refuseOtherBooks()
        guard mayWrite else { return }
        guard DatabaseFile(path: path).isWritable else {
            throw .notWritten(
                "The file \(path) with your table may not be written by this user. Nothing was read "
                    + "or written. Grant the right, or set `mode: check`.")
        }
        try makeLedger()
    }

    private func check(_ mapping: TableMapping, mayWrite: Bool) throws(StoreError) {
        let setting = mapping.kind.setting
        guard let table = try tables(named: mapping.table.name).first else {
            throw .schema(
                "There is no table `\(mapping.table)` in \(path). Nothing was read or written. "
                    + "Correct `\(setting).table`, or undo the change of the schema.")
        }
        for name in mapping.namedColumns where table.column(name) == nil {
            throw .schema(
                "The table `\(mapping.table)` of \(path) has no column `\(name)`. Nothing was read "
                    + "or written. Correct `\(setting)`, or undo the change of the schema.")
        }
        for (field, mapped) in mapping.read {
            guard case .column(let name, let form) = mapped, let type = table.column(name)?.type
            else { continue }
            let affinity = SQLiteAffinity(of: type)
            guard affinity.holds(form) else {
                throw doesNotHold(field, name, "is \(type.uppercased())", by: mapping)
            }
            // Without a type only the values tell.
            guard affinity == .any,
                let other = try otherValues(in: name, of: field, form, by: mapping)
            else { continue }
            throw doesNotHold(field, name, "holds \(other) values", by: mapping)
        }
        if mayWrite, let obstacle = mapping.obstacleToWriting(to: table) {
            throw .schema(
                "`\(mapping.table)` of \(path): \(obstacle). Nothing was read or written.")
        }
    }

    private func doesNotHold(
        _ field: MappedField, _ name: String, _ found: String, by mapping: TableMapping
    ) -> StoreError {
        .schema(
            "The column `\(name)` of the table `\(mapping.table)` of \(path) \(found), which does "
                + "not hold \(field.name) in the form that `\(mapping.kind.setting)` states. Nothing "
                + "was read or written. Correct the form, or undo the change of the schema.")
    }

    private static let valuesLookedAt = 1000

    /// The type of the values in a column without a type, where all of the first have another than
    /// its form: no row would be found by such a key, and no word be read.
    private func otherValues(
        in name: String, of field: MappedField, _ form: ColumnForm, by mapping: TableMapping
    ) throws(StoreError) -> String? {
        let isNumber: Bool
        switch (field, form) {
        case (mapping.kind.identifier, .integer), (mapping.kind.bundleID, .integer):
            isNumber = true
        case (mapping.kind.identifier, _), (mapping.kind.bundleID, _),
            (mapping.kind.environment, _), (.status, .text):
            isNumber = false
        default: return nil
        }
        let statements = MappedStatements(mapping, for: .sqlite)
        let column = statements.quoted(name)
        let types = try perform("reading values of \(mapping.table)") { db in
            try String.fetchSet(
                db,
                sql: """
                    SELECT typeof(v) FROM (SELECT \(column) AS v FROM \(statements.table)
                        WHERE \(column) IS NOT NULL LIMIT \(Self.valuesLookedAt))
                    """)
        }
        let holding: Set = isNumber ? ["integer"] : ["text", "blob"]
        return types.isDisjoint(with: holding) ? types.min() : nil
    }

    package func tables() throws(StoreError) -> [CompanyTableDescription] {
        try tables(named: nil)
    }

    func tables(
        named name: String?
    ) throws(StoreError) -> [CompanyTableDescription] {
        let isWritable = DatabaseFile(path: path).isWritable
        return try perform("reading the schema of \(path)") { db in
            try db.companyTables(named: name, isWritable: isWritable)
        }
    }
}

/// The table of entitlements in the company's file, which `store.entitlements` names.
extension SQLiteCompanyDatabase {
    /// Writes entitlements; the reason where the table does not take them.
    func keep(
        _ changes: [CompanyEntitlementChange], _ db: Database
    ) throws -> String? {
        guard let entitlements, !changes.isEmpty else { return nil }
        do {
            for statement in entitlements.write(changes) { try execute(statement, db) }
        } catch let refused as RowRefused {
            return entitlements.refusal(refused.reason)
        }
        let found = try Self.texts(entitlements.rows(of: changes.map(\.key)), db)
        return entitlements.refusal(of: changes, found: entitlements.rows(of: found))
    }

    package func entitlements(
        _ select: (EntitlementStatements) -> MappedStatement
    ) throws(StoreError) -> [CompanyEntitlement] {
        guard let entitlements else { return [] }
        let doing = "reading the entitlements in \(entitlements.name)"
        return entitlements.rows(of: try texts(select(entitlements), doing: doing))
    }

    package func obstacleToEntitlements(mayWrite: Bool) throws(StoreError) -> String? {
        guard let entitlements else { return nil }
        return entitlements.obstacle(
            in: try tables(named: entitlements.name.name).first, of: path, mayWrite: mayWrite)
    }
}
