import GRDB
import Subscriptions
import Testing

@testable import PostgresDatabase
@testable import SubscriptionStore

/// The tables of trueup's database in PostgreSQL, which follow from those in SQLite.
@Suite struct `The tables of books on a server` {
    private func statements(beside present: [String: Set<String>] = [:]) throws -> [Substring] {
        BooksSchema.statements(
            making: try BooksTable.made(byVersion: Migration.newest), beside: present
        ).split(separator: ";").map { $0.trimmingPrefix(while: \.isWhitespace) }
    }

    @Test func `are those of the newest schema, each with its columns and its key`() throws {
        let tables = try BooksTable.made(byVersion: Migration.newest)
        #expect(tables.count > 50)
        let made = try statements()
        #expect(made.count { $0.hasPrefix("CREATE TABLE") } == tables.count + 2)
        #expect(
            made.contains(
                """
                CREATE TABLE trueup.books_quota_refusals (
                    books integer, "bundle_id" text COLLATE "C", "environment" text COLLATE "C", \
                "endpoint" text COLLATE "C", "resumes_at" bigint, "rate_share" double precision,
                    PRIMARY KEY (books, "bundle_id", "environment", "endpoint"))
                """))
        #expect(
            made.contains(
                """
                CREATE TABLE trueup.books_evidence_headers (
                    books integer, "header_id" bigint, "digest" text, "segment" bytea,
                    PRIMARY KEY (books, "header_id"))
                """))
        #expect(
            made.contains(
                """
                CREATE TABLE trueup.books_company_restores (
                    books integer, "rowid" bigint, "kept_entry" bigint, "lost_entry" bigint, \
                "reason" text, "actor" text, "declared_at" bigint,
                    PRIMARY KEY (books, "rowid"))
                """))
        let rows = try #require(made.first { $0.contains("trueup.books_subscriptions (") })
        #expect(
            rows.contains(
                "\"row_version\" bigint, \"quantity\" bigint, \"renewal_quantity\" bigint, "
                    + "\"revoked_seats\" bigint, "))
        #expect(rows.contains(", unreadable text,"))
        #expect(made.contains { $0.hasPrefix("CREATE TABLE trueup.books_sequences (") })
    }

    @Test func `get a column or a table that they lack, and nothing twice`() throws {
        var tables = try BooksTable.made(byVersion: Migration.newest)
        let present = Dictionary(
            uniqueKeysWithValues: tables.map { table in
                (
                    String(BooksSchema.table(table.name).dropFirst("trueup.".count)),
                    Set(table.columns.map(\.name) + ["books", BooksSchema.unreadable])
                )
            }
        ).merging(["books": [], "books_holders": []]) { first, _ in first }
        #expect(BooksSchema.statements(making: tables, beside: present) == "")
        let index = try #require(tables.firstIndex { $0.name == "subscriptions" })
        tables[index].columns.append(BooksColumn(name: "added", form: .text))
        tables.append(
            BooksTable(
                name: "trueup_made_up", columns: [BooksColumn(name: "id", form: .integer)],
                key: ["id"]))
        #expect(
            BooksSchema.statements(making: tables, beside: present) == """
                ALTER TABLE trueup.books_subscriptions ADD COLUMN "added" text;
                CREATE TABLE trueup.books_made_up (
                    books integer, "id" bigint,
                    PRIMARY KEY (books, "id"));
                """)
    }

    @Test func `of an earlier version are those that it had`() throws {
        #expect(try BooksTable.made(byVersion: 0).map(\.name) == ["sqlite_sequence"])
        let schema = BooksSchema(newest: Migration.newest, tables: BooksTable.made(byVersion:))
        #expect(try schema.names(ofVersion: 0) == [])
        let names = try schema.names(ofVersion: Migration.newest)
        #expect(names.contains("books_migrations") && names.contains("books_runs"))
        #expect(names.contains("books_holders") && !names.contains("books_database"))
    }
}
