import GRDB
import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `Row versions` {
    /// Runs the statements one by one and returns the row's version after each.
    private func versions(after statements: [String], recursive: Bool) throws -> [Int] {
        let database = try TemporaryDatabase()
        let service = try database.service()
        let insert = """
            (bundle_id, environment, original_transaction_id, status)
            VALUES ('com.example.app', 'Production', '1', 1)
            """
        try service.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA recursive_triggers = \(recursive ? 1 : 0)")
            try db.execute(sql: "INSERT INTO subscriptions \(insert)")
        }
        return try statements.map { statement in
            try service.write { db in
                let sql = statement.replacing("$ROW", with: insert)
                try db.execute(sql: sql)
                return try Int.fetchOne(db, sql: "SELECT row_version FROM subscriptions") ?? 0
            }
        }
    }

    @Test(arguments: [false, true])
    func `only grow, however a service writes`(recursive: Bool) throws {
        let seen = try versions(
            after: [
                "UPDATE subscriptions SET status = 2",
                "UPDATE subscriptions SET status = 2",
                "UPDATE subscriptions SET row_version = 1",
                "UPDATE subscriptions SET environment = 'Sandbox'",
                "UPDATE subscriptions SET environment = 'Production'",
                "INSERT OR REPLACE INTO subscriptions $ROW",
                "REPLACE INTO subscriptions $ROW",
                "INSERT INTO subscriptions $ROW ON CONFLICT DO UPDATE SET status = 4",
                "DELETE FROM subscriptions; INSERT INTO subscriptions $ROW",
                "UPDATE subscriptions SET row_version = row_version + 1",
            ], recursive: recursive)
        #expect(seen.first == 2)
        for (before, after) in zip(seen, seen.dropFirst()) { #expect(after > before) }
    }

    @Test(arguments: [false, true])
    func `recover from garbage`(recursive: Bool) throws {
        let seen = try versions(
            after: [
                "UPDATE subscriptions SET row_version = 'x'", "UPDATE subscriptions SET status = 3",
            ], recursive: recursive)
        #expect(seen[1] > seen[0])
    }
}
