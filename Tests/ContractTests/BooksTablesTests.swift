import Foundation
import GRDB
import Subscriptions
import Testing

@testable import PostgresDatabase
@testable import SubscriptionStore

/// The tables of books in PostgreSQL, against those in SQLite.
@Suite struct `The tables of books on a server` {
    /// What the steps of the schema make: columns in their order with their types, and the key.
    private static func made(
        by steps: [BooksSchema.Step]
    ) -> [String: (columns: [String: String], key: [String])] {
        var made: [String: (columns: [String: String], key: [String])] = [:]
        for step in steps {
            let text = step.statements.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let pattern = /CREATE TABLE (trueup\.books_\w+) \( (.*?), PRIMARY KEY \((.*?)\)\)/
            for table in text.matches(of: pattern) {
                let columns = table.2.split(separator: ", ").map { column in
                    let words = column.split(separator: " ", maxSplits: 1).map(String.init)
                    return (words[0], words[1].replacing(" COLLATE \"C\"", with: ""))
                }
                made[String(table.1)] = (
                    Dictionary(columns, uniquingKeysWith: { first, _ in first }),
                    table.3.split(separator: ", ").map(String.init)
                )
            }
            for column in text.matches(of: /ALTER TABLE (\S+) ADD COLUMN (\w+) (\w+);/) {
                made[String(column.1)]?.columns[String(column.2)] = String(column.3)
            }
        }
        return made
    }

    private static let types: [BooksColumn.Form: String] = [
        .integer: "bigint", .text: "text", .real: "double precision", .blob: "bytea",
    ]

    @Test func `get a column that a later version adds, in its own step`() {
        let later = Migration.newest + 1
        let added = BooksSchema.adding([
            AddedColumn(table: "subscriptions", name: "added_text", form: .text, since: later),
            AddedColumn(table: "transactions", name: "added_time", form: .time, since: later + 1),
        ])
        #expect(Set(added.map(\.number)) == [later, later + 1])
        #expect(BooksSchema.newest < later)
        let made = Self.made(by: BooksSchema.steps + added)
        #expect(made["trueup.books_subscriptions"]?.columns["added_text"] == "text")
        #expect(made["trueup.books_transactions"]?.columns["added_time"] == "bigint")
    }

    @Test func `have each table, column and key that the newest migration has`() throws {
        let made = Self.made(by: BooksSchema.steps)
        let tables = try SchemaParts.model(ofVersion: Migration.newest).read { db in
            try BooksTables.watched(db) + [BooksTables.sequences]
        }
        #expect(tables.count > 50)
        for table in tables {
            let there = try #require(made[BooksSchema.table(table.name)], "\(table.name)")
            for column in table.columns {
                #expect(
                    there.columns[column.name] == Self.types[column.form],
                    "\(table.name).\(column.name)")
            }
            #expect(there.key == ["books"] + table.key, "\(table.name)")
        }
    }
}
