import GRDB
import Subscriptions

/// What compare-and-set relies on in a table of the company's: its primary key, and that text is
/// equal only where it is the same byte for byte.
struct TableShape {
    private let table: String
    /// In the order of the primary key.
    private let key: [String]
    /// Text columns that take different texts for the same, or that name a collation of their own.
    private let looseColumns: [String]

    init(of table: String, columns: [String], _ db: Database) throws {
        self.table = table
        key = try String.fetchAll(
            db, sql: "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk",
            arguments: [table])
        // An older database has not all of today's columns yet; whether it may lack one is no matter
        // of its shape.
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

    /// What is not as expected, in words; `nil` where all is.
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
    /// and that leave it as it is where two rows have one key; `columns` are those of the definition.
    static func rebuild(
        _ table: String, as definition: String, with columns: Set<String>, _ db: Database
    ) throws -> String {
        let own = try Row.fetchAll(
            db, sql: "SELECT name, type, \"notnull\", dflt_value FROM pragma_table_info(?)",
            arguments: [table])
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
            let taken = try Int.fetchOne(
                db, sql: "SELECT 1 FROM sqlite_master WHERE name = ?", arguments: [candidate])
            guard taken != nil else { break }
            candidate = "\(name)_\(number)"
        }
        return candidate
    }
}
