import GRDB
import Subscriptions

/// Whether a database is ours, and of which version.
struct SchemaCheck {
    let path: String
    var steps = Migration.all
    var newest: Int { steps.last?.number ?? 0 }

    /// Brings the schema up to this version, or an earlier one; an empty database becomes one of ours.
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
        let subscriptions = SubscriptionField.stored.map { ($0.rawValue, $0.form) }
        try compare("subscriptions", subscriptions + [("row_version", .integer)], db)
        try compare("transactions", TransactionField.allCases.map { ($0.rawValue, $0.form) }, db)
    }

    /// Refuses a file that is not ours, or not whole, before anything of it could change.
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
                "The database \(path) is empty (0 bytes): what stood in it is lost, or was never "
                    + "written. Nothing was changed. Restore a backup; or, if there never were "
                    + "rows, delete the file and run `trueup init`.")
        }
        try file.refuseLeavingFiles()
    }

    /// Refuses a file that is not ours, and a database that lost what makes writing to it safe; reads
    /// only.
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

    /// Puts triggers and indexes of ours back that somebody removed or changed.
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
                    + "Name another file in `store.url`.")
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
        let found = try Row.fetchAll(db, sql: "PRAGMA table_info(\(table))")
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
