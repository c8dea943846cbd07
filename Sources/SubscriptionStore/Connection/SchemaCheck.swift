import GRDB
import Subscriptions

/// Whether a database is trueup's, and of which version.
struct SchemaCheck {
    let path: String
    var steps = Migration.all
    var newest: Int { steps.last?.number ?? 0 }

    /// Brings the schema up to this version, or an earlier one; an empty database becomes one of
    /// trueup's.
    ///
    /// Each step is a transaction of its own and is seen whole or not at all.
    func migrate(_ connection: DatabaseQueue, to version: Int? = nil) throws {
        while try connection.write({ try migrateOneStep($0, to: version ?? newest) }) {}
    }

    private func migrateOneStep(_ db: Database, to last: Int) throws -> Bool {
        let version = try refuseForeign(db)
        guard let step = steps.first(where: { $0.number > version && $0.number <= last })
        else { return false }
        try db.execute(sql: step.sql)
        try db.execute(sql: "PRAGMA application_id = \(Migration.applicationID)")
        try db.execute(sql: "PRAGMA user_version = \(step.number)")
        return true
    }

    /// Makes sure that the database can be used as it is.
    func verify(_ connection: DatabaseQueue) throws { try connection.read(verify) }

    private func verify(_ db: Database) throws {
        let version = try refuseForeign(db)
        guard version == newest else {
            throw StoreError.schema(
                "The database \(path) has schema \(version), this version needs "
                    + "\(newest). Run `trueup init` to bring it up to date.")
        }
        let optional = try OptionalColumns.present(db)
        let subscriptions = SubscriptionField.mappable.filter {
            !SubscriptionField.optional.contains($0) || optional.contains($0)
        }.map { ($0.rawValue, $0.form) }
        try compare("subscriptions", subscriptions + [("row_version", .integer)], db)
        for table in TransactionTable.allCases {
            try compare(table.rawValue, table.fields.map { ($0.rawValue, $0.form) }, db)
        }
    }

    /// Refuses a file that is not trueup's, or not whole, before anything of it could change.
    ///
    /// - Returns: the schema's version.
    @discardableResult
    func refuse(_ file: DatabaseFile) throws -> Int {
        try refuseUnreadable(file)
        return try file.connectToRead().read(refuseForeign)
    }

    /// Refuses a file that cannot be looked into without a trace, or that has lost its content.
    func refuseUnreadable(_ file: DatabaseFile) throws {
        guard !file.isEmpty else {
            throw StoreError.unavailable(
                "The database \(path) is empty (0 bytes): its contents are lost, or were never "
                    + "written. Nothing was changed. Restore a backup; or, if there never were "
                    + "rows, delete the file and run `trueup init`.")
        }
        try file.refuseLeavingFiles()
    }

    /// Refuses a file that is not trueup's, and a database that lost what makes writing to it safe;
    /// reads only.
    ///
    /// - Returns: the connection by which it was read.
    @discardableResult
    func refuseDamaged(_ file: DatabaseFile) throws -> DatabaseQueue {
        try refuseUnreadable(file)
        let connection = try file.connectToRead()
        try connection.read { db in
            try verify(db)
            try SchemaDamage(path: path, version: newest).refuse(db)
            try Ledger(db: db).checkEnd()
        }
        return connection
    }

    /// Refuses to bring a database up to date that lost what its own version had; reads only.
    func refuseDamagedOlder(_ file: DatabaseFile) throws {
        try file.connectToRead().read { db in
            try SchemaDamage(path: path, version: refuseForeign(db)).refuse(db)
        }
    }

    /// Restores trueup's triggers and indexes that were removed or changed.
    ///
    /// - Returns: what was put back, in words.
    func restore(_ connection: DatabaseQueue) throws -> [String] {
        try connection.write { db in
            try SchemaDamage(path: path, version: refuseForeign(db)).restore(db)
        }
    }

    /// The schema's version; 0 for an empty file.
    private func refuseForeign(_ db: Database) throws -> Int {
        let mark = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        let isEmpty = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0
        guard mark == Migration.applicationID || (isEmpty && mark == 0) else {
            throw StoreError.schema(
                "\(path) is an SQLite database, but not one of trueup. It was left as it is. "
                    + "Name another file in `store.url`, or in `store.books` if your rows are in a "
                    + "table of your own.")
        }
        guard version <= newest else {
            throw StoreError.schema(
                "The database \(path) was made by a newer trueup (schema \(version), this version "
                    + "knows \(newest)). It was left as it is. Use the newer version.")
        }
        return version
    }

    /// A column renamed or retyped overnight is named, not stumbled over.
    private func compare(
        _ table: String, _ columns: [(name: String, form: FieldForm)], _ db: Database
    ) throws {
        let found = try db.rows("PRAGMA table_info(\(table))")
        let types = Dictionary(
            found.map { row in (row["name"] as String? ?? "", row["type"] as String? ?? "") },
            uniquingKeysWith: { first, _ in first })
        for (name, form) in columns {
            guard let type = types[name] else {
                throw StoreError.schema(
                    "The table `\(table)` of \(path) has no column `\(name)`. Nothing was read or "
                        + "written. Undo the change of the schema.")
            }
            let expected = form.declaredType
            guard type.uppercased() == expected else {
                throw StoreError.schema(
                    "The column `\(name)` of the table `\(table)` of \(path) is \(type), not "
                        + "\(expected). Nothing was read or written. Undo the change of the schema."
                )
            }
        }
    }
}

/// The missing parts of a trueup database's schema, and how they are restored.
struct SchemaDamage {
    let path: String
    let version: Int

    private static let companyTables: [(name: String, textColumns: [String])] =
        [
            (
                "subscriptions",
                SubscriptionField.stored.filter { $0.form == .text }.map(\.rawValue)
            )
        ]
        + TransactionTable.allCases.map { table in
            (table.rawValue, table.fields.filter { $0.form == .text }.map(\.rawValue))
        }

    /// - Throws: `.schema`, naming what is missing or different and what restores it.
    func refuse(_ db: Database) throws {
        guard version > 0, try !isWhole(db) else { return }
        let model = try SchemaPart.model(ofVersion: version)
        try refuseTables(db, model)
        try refuseShapes(db, model)
        let missing = try SchemaPart.missing(in: db, of: model)
        guard !missing.isEmpty else { return }
        let names = missing.map { "the " + $0.description }.joined(separator: ", ")
        let concernsLedger = missing.contains { $0.table == "trueup_ledger" }
        throw StoreError.schema(
            "The database \(path) lacks what keeps it safe, or has it changed: \(names). Another "
                + "program rebuilt a table or removed them. Nothing was written. Run `trueup init` "
                + "to restore them, or paste what follows into `sqlite3 \(path)` while no service "
                + "writes"
                + (concernsLedger
                    ? ", then run `trueup verify --database` to check the ledger." : ".")
                + "\n"
                + (missing.map(\.restoring) + [Schema.makeEntitlementsAgain])
                .joined(separator: "\n"))
    }

    /// - Returns: what was put back, in words.
    func restore(_ db: Database) throws -> [String] {
        guard try !isWhole(db) else { return [] }
        let missing = try SchemaPart.missing(in: db, of: SchemaPart.model(ofVersion: version))
        for part in missing { try db.execute(sql: part.restoring) }
        if !missing.isEmpty { try db.execute(sql: Schema.makeEntitlementsAgain) }
        return missing.map(\.description)
    }

    /// Whether nothing of a schema of this version is missing or different.
    private func isWhole(_ db: Database) throws -> Bool {
        try version == Migration.newest && SchemaDigest.of(db) == SchemaDigest.newest
    }

    private func refuseTables(_ db: Database, _ model: DatabaseQueue) throws {
        let names = "SELECT name FROM sqlite_master WHERE type = 'table'"
        let missing = try model.read { try String.fetchSet($0, sql: names) }
            .subtracting(String.fetchSet(db, sql: names)).sorted()
        guard !missing.isEmpty else { return }
        let list = missing.map { "`\($0)`" }.joined(separator: ", ")
        throw StoreError.schema(
            "The database \(path) has lost \(missing.count == 1 ? "the table" : "the tables") "
                + "\(list). Nothing was written. Restore a backup.")
    }

    private func refuseShapes(_ db: Database, _ model: DatabaseQueue) throws {
        for (table, columns) in Self.companyTables {
            let (expected, named, definition) = try model.read { model in
                (
                    try TableShape(of: table, columns: columns, model),
                    try TableShape.columns(of: table, model),
                    try model.text("SELECT sql FROM sqlite_master WHERE name = ?", [table]) ?? ""
                )
            }
            let found = try TableShape(of: table, columns: columns, db)
            guard let difference = found.difference(from: expected) else { continue }
            throw StoreError.schema(
                """
                In the database \(path) \(difference): a row that changed could be overwritten. \
                Nothing was written. While no service writes, paste this into `sqlite3 \(path)`; \
                it changes nothing where two rows would have one key, and keeps the table as it \
                was under another name. Then run `trueup init`.
                \(try TableShape.rebuild(table, as: definition, with: named, db))
                """)
        }
    }
}

/// All that is trueup's of a database's schema, as one digest.
///
/// Opening a database asks whether its schema is whole. That nothing at all is different shows by
/// one query; only where something is, a model is made and compared part by part, which takes
/// longer than the rest of the opening. The company's own additions to our tables are such a
/// difference.
package enum SchemaDigest {
    /// The digest of the newest schema; a test says what it must be.
    package static let newest = "a5e5df7e8f68287f7289bef3d8df28e2bc10c7a9d738d54a2acfbfefa41d29fe"

    /// The digest of a model.
    package static func made(byVersion version: Int) throws -> String {
        try SchemaPart.model(ofVersion: version).read(of)
    }

    /// The digest of what a database has.
    static func of(_ db: Database) throws -> String {
        let text = try db.text(
            """
            SELECT group_concat(type || x'1F' || name || x'1F' || tbl_name || x'1F' || sql, x'1E')
            FROM (SELECT * FROM sqlite_master
                WHERE sql IS NOT NULL AND (tbl_name IN ('subscriptions', 'transactions', 'purchases')
                    OR tbl_name GLOB 'trueup_*')
                ORDER BY type, name)
            """)
        return Hexadecimal.sha256(of: (text ?? "").utf8)
    }
}

/// A trigger or index of a database, to be compared with what the migrations make.
///
/// SQLite's way to change a table (create, copy, drop, rename) takes its triggers and indexes away
/// without a word, and with them what makes a row's version rise and the ledger last.
struct SchemaPart {
    let type: String
    let name: String
    let table: String
    let sql: String

    var description: String { "\(type) `\(name)` of `\(table)`" }

    /// The statements that put it back.
    var restoring: String { "DROP \(type) IF EXISTS \(name);\n\(sql);" }

    /// The statement without what SQLite changes when a table is renamed to and fro.
    private var essence: [Substring] {
        sql.filter { !"\"`[]".contains($0) }.split(whereSeparator: \.isWhitespace)
    }

    /// A database in memory with the schema of a version and no rows.
    static func model(ofVersion version: Int) throws -> DatabaseQueue {
        let model = try DatabaseQueue()
        try model.write { db in
            for step in Migration.all where step.number <= version { try db.execute(sql: step.sql) }
        }
        return model
    }

    /// The parts that a database has, by name.
    private static func all(_ db: Database) throws -> [String: SchemaPart] {
        let parts = try db.rows(
            """
            SELECT type, name, tbl_name, sql FROM sqlite_master
            WHERE type IN ('trigger', 'index') AND sql IS NOT NULL
            """
        ).map { row in
            SchemaPart(
                type: row.requiredText(at: 0), name: row.requiredText(at: 1),
                table: row.requiredText(at: 2), sql: row.requiredText(at: 3))
        }
        return Dictionary(parts.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Parts of a model that are missing or different in a database; extra parts are ignored.
    static func missing(in db: Database, of model: DatabaseQueue) throws -> [SchemaPart] {
        let present = try all(db)
        return try model.read(all).values.filter { part in
            guard let found = present[part.name] else { return true }
            return found.type != part.type || found.table != part.table
                || found.essence != part.essence
        }.sorted { ($0.table, $0.type, $0.name) < ($1.table, $1.type, $1.name) }
    }
}

/// The properties of a company's table on which compare-and-set relies: its primary key, and that
/// texts are equal only where they are the same byte for byte.
struct TableShape {
    private let table: String
    /// In the order of the primary key.
    private let key: [String]
    /// Text columns that take different texts for the same, or that name a collation of their own.
    private let looseColumns: [String]

    init(of table: String, columns: [String], _ db: Database) throws {
        self.table = table
        key = try db.texts(
            "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", [table])
        // An older database has not all of today's columns yet; its shape does not decide whether
        // it may lack one.
        let present = try Self.columns(of: table, db)
        looseColumns = try columns.filter(present.contains).filter {
            try Self.isLoose($0, of: table, db)
        }
    }

    /// The names of a table's columns.
    static func columns(of table: String, _ db: Database) throws -> Set<String> {
        try String.fetchSet(
            db, sql: "SELECT name FROM pragma_table_info(?)", arguments: [table])
    }

    /// Asks SQLite itself: a column of a subquery brings its collation along.
    private static func isLoose(
        _ column: String, of table: String, _ db: Database
    ) throws -> Bool {
        do {
            return try Bool.fetchOne(
                db,
                sql: """
                    SELECT x = 'A' OR x = 'a ' FROM (
                        SELECT \(column) AS x FROM \(table) WHERE 0 UNION ALL SELECT 'a')
                    """) ?? false
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            // A collation that this program does not have.
            return true
        }
    }

    /// Returns the difference from the expected shape, in words; `nil` where there is none.
    func difference(from expected: TableShape) -> String? {
        if key != expected.key {
            let found = key.isEmpty ? "none" : "(\(key.joined(separator: ", ")))"
            return "the primary key of `\(table)` is \(found) instead of "
                + "(\(expected.key.joined(separator: ", ")))"
        }
        guard !looseColumns.isEmpty else { return nil }
        let names = looseColumns.map { "`\($0)`" }.joined(separator: ", ")
        return "the collation of \(names) in `\(table)` is not BINARY: texts that differ count as "
            + "equal"
    }

    /// Statements that make the table as it must be, with its rows and the company's own columns,
    /// and that leave it as it is where two rows have one key; `columns` are those of the
    /// definition.
    static func rebuild(
        _ table: String, as definition: String, with columns: Set<String>, _ db: Database
    ) throws -> String {
        let own = try db.rows(
            "SELECT name, type, \"notnull\", dflt_value FROM pragma_table_info(?)", [table])
        let names = own.map { $0.requiredText(at: 0) }
        let additional = own.filter { row in
            !columns.contains(row.requiredText(at: 0))
        }.map { row in
            "    \"\(row.requiredText(at: 0))\" \(row.requiredText(at: 1))"
                + (row.integer(at: 2) == 1 ? " NOT NULL" : "")
                + (row.text(at: 3).map { " DEFAULT \($0)" } ?? "") + ",\n"
        }.joined()
        let keyLine = "    PRIMARY KEY ("
        let before = try unusedName("\(table)_before", db)
        let parts = definition.split(separator: keyLine, maxSplits: 1)
        let list = names.map { "\"\($0)\"" }.joined(separator: ", ")
        return """
            PRAGMA legacy_alter_table = ON;
            BEGIN IMMEDIATE;
            ALTER TABLE \(table) RENAME TO \(before);
            \(parts.joined(separator: additional + keyLine));
            INSERT OR ROLLBACK INTO \(table) (\(list))
            SELECT \(list) FROM \(before);
            COMMIT;
            """
    }

    private static func unusedName(_ name: String, _ db: Database) throws -> String {
        var candidate = name
        for number in 2... {
            guard try db.holds("sqlite_master WHERE name = ?", [candidate]) else { break }
            candidate = "\(name)_\(number)"
        }
        return candidate
    }
}
