import GRDB
import Subscriptions
import Testing

@testable import SubscriptionStore

/// The company's tables, and columns beside those that every table has.
@Suite struct `Adding columns` {
    /// The tables with every optional column.
    private func database(_ body: (Database) throws -> Void) throws {
        try DatabaseQueue().inDatabase { db in
            for step in Migration.all { try db.execute(sql: step.sql) }
            try OptionalColumns.add(SubscriptionField.optional, to: db)
            try body(db)
        }
    }

    @Test func `each optional column gets the type of its form`() throws {
        var types: [String: String] = [:]
        try database { db in
            for row in try Row.fetchAll(
                db, sql: "SELECT name, type FROM pragma_table_info('subscriptions')")
            {
                types[row.requiredText(at: 0)] = row.requiredText(at: 1)
            }
        }
        for field in SubscriptionField.mappable {
            let type = field.form == .text ? "TEXT" : "INTEGER"
            #expect(types[field.rawValue] == type, "\(field.rawValue)")
        }
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
                        quantity, company_note)
                    VALUES ('com.example.app', 'Production', '1', 12, 'kept')
                    """)
            let statements = try TableShape.rebuild(
                "subscriptions", as: definition, with: columns, db)
            try db.execute(sql: statements)
            #expect(
                try TableShape.columns(of: "subscriptions", db)
                    == columns.union(["company_note"]))
            let row = try #require(
                try Row.fetchOne(
                    db, sql: "SELECT quantity, company_note FROM subscriptions"))
            #expect(row.integer(at: 0) == 12)
            #expect(row.requiredText(at: 1) == "kept")
        }
    }
}
