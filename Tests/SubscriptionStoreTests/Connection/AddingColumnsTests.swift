import GRDB
import Subscriptions
import Testing

@testable import SubscriptionStore

/// A later version may add a column to the company's tables.
@Suite struct `Adding columns` {
    private static let later = (Migration.all.last?.number ?? 0) + 1

    /// Columns that nobody has yet: two of the next version, one of the version after it.
    private static let added = [
        AddedColumn(table: "subscriptions", name: "added_text", form: .text, since: later),
        AddedColumn(table: "subscriptions", name: "added_time", form: .time, since: later + 1),
        AddedColumn(table: "transactions", name: "added_number", form: .integer, since: later),
    ]

    /// The tables as a version made them that added columns to them.
    private func database(_ body: (Database) throws -> Void) throws {
        try DatabaseQueue().inDatabase { db in
            let steps = Migration.adding(Self.added).sorted { $0.number < $1.number }
            for step in Migration.all + steps { try db.execute(sql: step.sql) }
            try body(db)
        }
    }

    private static func type(
        of column: String, in table: String, _ db: Database
    ) throws -> String? {
        try String.fetchOne(
            db, sql: "SELECT type FROM pragma_table_info(?) WHERE name = ?",
            arguments: [table, column])
    }

    @Test func `each version adds all its columns in one step, in the type of their form`() throws {
        #expect(
            Migration.adding(Self.added).map(\.number).sorted() == [Self.later, Self.later + 1])
        var types: [String?] = []
        try database { db in
            types = [
                try Self.type(of: "added_text", in: "subscriptions", db),
                try Self.type(of: "added_time", in: "subscriptions", db),
                try Self.type(of: "added_number", in: "transactions", db),
                try Self.type(of: "added_text", in: "transactions", db),
            ]
        }
        #expect(types == ["TEXT", "INTEGER", "INTEGER", nil])
    }

    @Test func `no two steps have one number, because the second would never be done`() {
        let numbers = Migration.all.map(\.number)
        #expect(numbers == Set(numbers).sorted())
    }

    @Test func `the tables have exactly the columns that are defined`() throws {
        let queue = try DatabaseQueue()
        let found: [Set<String>] = try queue.inDatabase { db in
            for step in Migration.all { try db.execute(sql: step.sql) }
            return try ["subscriptions", "transactions", "purchases"].map { table in
                try TableShape.columns(of: table, db)
            }
        }
        #expect(found[0] == Set(SubscriptionField.stored.map(\.rawValue) + ["row_version"]))
        #expect(found[1] == Set(TransactionField.ofPeriods.map(\.rawValue)))
        #expect(found[2] == Set(TransactionField.ofPurchases.map(\.rawValue)))
    }

    @Test func `a column that an older database lacks is no damage of its shape`() throws {
        try database { db in
            let shape = try TableShape(of: "subscriptions", columns: ["product_id", "later"], db)
            let expected = try TableShape(of: "subscriptions", columns: ["product_id"], db)
            #expect(shape.difference(from: expected) == nil)
        }
    }

    @Test func `the statements that mend a table hold each column once`() throws {
        try database { db in
            let definition = try #require(
                try String.fetchOne(
                    db, sql: "SELECT sql FROM sqlite_master WHERE name = 'subscriptions'"))
            let columns = try TableShape.columns(of: "subscriptions", db)
            try db.execute(
                sql: """
                    ALTER TABLE subscriptions ADD COLUMN company_note TEXT DEFAULT 'none';
                    INSERT INTO subscriptions (bundle_id, environment, original_transaction_id,
                        added_text, company_note)
                    VALUES ('com.example.app', 'Production', '1', 'summer', 'kept')
                    """)
            let statements = try TableShape.rebuild(
                "subscriptions", as: definition, with: columns, db)
            try db.execute(sql: statements)
            #expect(
                try TableShape.columns(of: "subscriptions", db)
                    == columns.union(["company_note"]))
            let row = try #require(
                try Row.fetchOne(
                    db, sql: "SELECT added_text, company_note FROM subscriptions"))
            #expect(row.requiredText(at: 0) == "summer")
            #expect(row.requiredText(at: 1) == "kept")
        }
    }
}
