import GRDB
import Subscriptions

/// The triggers and indexes of a database, to be compared with what the migrations make.
///
/// SQLite's way to change a table (create, copy, drop, rename) takes its triggers and indexes away
/// without a word, and with them what makes a row's version rise and the ledger last.
struct SchemaParts {
    struct Part: Hashable {
        let type: String
        let name: String
        let table: String
        let sql: String

        var description: String { "\(type) `\(name)` of `\(table)`" }

        /// The statements that put it back.
        var restoring: String { "DROP \(type) IF EXISTS \(name);\n\(sql);" }

        /// The statement without what SQLite changes when a table is renamed to and fro.
        fileprivate var essence: [Substring] {
            sql.filter { !"\"`[]".contains($0) }.split(whereSeparator: \.isWhitespace)
        }
    }

    private let byName: [String: Part]

    /// What the first `version` migrations make.
    static func made(byVersion version: Int) throws -> SchemaParts {
        try model(ofVersion: version).read(SchemaParts.init)
    }

    /// A database in memory with the schema of a version and no rows.
    static func model(ofVersion version: Int) throws -> DatabaseQueue {
        let model = try DatabaseQueue()
        try model.write { db in
            for step in Migration.all where step.number <= version { try db.execute(sql: step.sql) }
        }
        return model
    }

    /// What a database has.
    init(_ db: Database) throws {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT type, name, tbl_name, sql FROM sqlite_master
                WHERE type IN ('trigger', 'index') AND sql IS NOT NULL
                """)
        let parts = rows.map { row in
            Part(
                type: row.requiredText(at: 0), name: row.requiredText(at: 1),
                table: row.requiredText(at: 2), sql: row.requiredText(at: 3))
        }
        byName = Dictionary(parts.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Parts of this schema that are missing or different in another; extra parts are ignored.
    func missing(in other: SchemaParts) -> [Part] {
        byName.values.filter { part in
            guard let found = other.byName[part.name] else { return true }
            return found.type != part.type || found.table != part.table
                || found.essence != part.essence
        }.sorted { ($0.table, $0.type, $0.name) < ($1.table, $1.type, $1.name) }
    }

    /// Puts back what `missing(in:)` names.
    static func restore(_ parts: [Part], _ db: Database) throws {
        for part in parts {
            try db.execute(sql: part.restoring)
        }
    }
}
