import Foundation
import GRDB
package import Subscriptions

/// The tables of the books that a server holds.
package enum BooksTables {
    /// Not part of them: the identity, which the server has for itself; which state a copy is of; and
    /// what the next reading of the company's table makes anew, because every reading writes each of
    /// its rows.
    static let left: Set = ["trueup_database", "trueup_books_copy", "trueup_company_rows"]

    /// SQLite's own table of the highest numbers that were ever given, which no trigger can watch.
    static let sequences = BooksTable(
        name: "sqlite_sequence",
        columns: [
            BooksColumn(name: "name", form: .text), BooksColumn(name: "seq", form: .integer),
        ],
        key: ["name"])

    /// All tables that a version of the schema has.
    package static func made(byVersion version: Int) throws(StoreError) -> [BooksTable] {
        do {
            return try SchemaParts.model(ofVersion: version).read { try watched($0) + [sequences] }
        } catch {
            throw StoreError(error, doing: "making the tables of schema \(version)")
        }
    }

    /// All but the sequences, by name.
    static func watched(_ db: Database) throws -> [BooksTable] {
        let names = try String.fetchAll(
            db,
            sql: """
                SELECT name FROM main.sqlite_master
                WHERE type = 'table' AND name NOT GLOB 'sqlite_*'
                    AND (name GLOB 'trueup_*' OR name IN ('subscriptions', 'transactions'))
                ORDER BY name
                """)
        return try names.filter { !left.contains($0) }.map { try table($0, db) }
    }

    private static func table(_ name: String, _ db: Database) throws -> BooksTable {
        var columns: [BooksColumn] = []
        var key: [(position: Int64, name: String)] = []
        for row in try Row.fetchAll(db, sql: "PRAGMA main.table_info(\(name))") {
            let column = row.requiredText(at: 1)
            guard let form = BooksColumn.Form(rawValue: row.requiredText(at: 2)) else {
                throw StoreError.inconsistent(
                    "The column \(column) of \(name) has a type that no books have.")
            }
            columns.append(BooksColumn(name: column, form: form))
            if let position = row.integer(at: 5), position > 0 { key.append((position, column)) }
        }
        guard !key.isEmpty else {
            let number = BooksColumn(name: "rowid", form: .integer)
            return BooksTable(name: name, columns: [number] + columns, key: ["rowid"])
        }
        return BooksTable(
            name: name, columns: columns, key: key.sorted { $0.position < $1.position }.map(\.name))
    }
}

extension BooksValue {
    init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let number): self = .integer(number)
        case .double(let number): self = .real(number)
        case .string(let text): self = .text(text)
        case .blob(let bytes): self = .blob([UInt8](bytes))
        }
    }

    var stored: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let number): number.databaseValue
        case .real(let number): number.databaseValue
        case .text(let text): text.databaseValue
        case .blob(let bytes): Data(bytes).databaseValue
        }
    }
}
