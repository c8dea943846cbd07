import GRDB
import SubscriptionStore
import Subscriptions
import Testing

/// A database of the schema before events were counted is brought up to date.
@Suite struct `A database without counted events` {
    private func olderDatabase() throws -> TemporaryDatabase {
        let database = try TemporaryDatabase(created: false)
        let service = try DatabaseQueue(path: database.path)
        try service.write { db in
            for step in Migration.all where step.number < 27 { try db.execute(sql: step.sql) }
            try db.execute(sql: "PRAGMA application_id = \(Migration.applicationID)")
            try db.execute(sql: "PRAGMA user_version = 26")
            try db.execute(
                sql: """
                    INSERT INTO subscriptions (bundle_id, environment, original_transaction_id,
                        status, signed_date)
                    VALUES ('\(app.bundleID)', 'Production', '1', 1, 1000);
                    INSERT INTO trueup_watermarks
                    VALUES ('\(app.bundleID)', 'Production', \(Night.start - 1));
                    """)
        }
        try service.close()
        try database.bringUpToDate()
        return database
    }

    @Test func `keeps its rows, and nobody is known to pay elsewhere`() async throws {
        let database = try olderDatabase()
        let before = subscription("1")
        let row = try #require(try await database.open().rows(holding: ["1"]).first?.row)
        #expect(row.paidElsewhereUntil == nil)
        #expect(row.status == before.status)
        #expect(row.signedDate == before.signedDate)
        #expect(row.rowVersion == 1)
        // What was stored of the row's values before still agrees with it.
        #expect(ValuesDigest(of: row) == ValuesDigest(of: before))
    }

    @Test func `takes the column in, and knows of nothing that was read before`() async throws {
        let database = try olderDatabase()
        let store = try database.open()
        var paying = subscription("1")
        paying.paidElsewhereUntil = Timestamp(unixMilliseconds: 5000)
        let counts = try store.loadSubscriptions(
            columns: [.originalTransactionID, .paidElsewhereUntil]
        ) { add in
            _ = try add(paying)
        }
        #expect(counts.updated == 1)
        #expect(try await store.rows(holding: ["1"]).first?.row.paidElsewhereUntil != nil)
        let night = try await Night.begin(store, Night.header("run-1"))
        #expect(try await night.conclude().summary().business == BusinessRecord())
    }
}
