import GRDB
import Testing

@testable import SubscriptionStore

/// A later version may add a column to the company's tables.
@Suite struct `Adding columns` {
    /// The table as a version made it that added a column to it.
    private func database(_ body: (Database) throws -> Void) throws {
        try DatabaseQueue().inDatabase { db in
            for step in Migration.all { try db.execute(sql: step.sql) }
            try db.execute(sql: "ALTER TABLE subscriptions ADD COLUMN offer_identifier TEXT")
            try body(db)
        }
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
                        offer_identifier, company_note)
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
                    db, sql: "SELECT offer_identifier, company_note FROM subscriptions"))
            #expect(row.requiredText(at: 0) == "summer")
            #expect(row.requiredText(at: 1) == "kept")
        }
    }
}
