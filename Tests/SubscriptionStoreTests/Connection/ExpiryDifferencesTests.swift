import SubscriptionStore
import Testing

@Suite struct `Comparing rows with their periods` {
    @Test func `counts differences that a time zone may have made`() async throws {
        let database = try TemporaryDatabase()
        let hour: Int64 = 3_600_000
        let rows: [(row: String, period: String)] = [
            ("7200000", "0"), ("7200000", "0"), ("5", "5"), ("60000", "0"),
            ("\(30 * hour)", "0"), ("'text'", "0"), ("\(Int64.max)", "-\(Int64.max)"),
        ]
        for (index, pair) in rows.enumerated() {
            try database.execute(
                """
                INSERT INTO subscriptions (bundle_id, environment, original_transaction_id,
                    latest_transaction_id, expires_date)
                VALUES ('a', 'Production', '\(index)', 't\(index)', \(pair.row));
                INSERT INTO transactions (bundle_id, environment, original_transaction_id,
                    transaction_id, expires_date)
                VALUES ('a', 'Production', '\(index)', 't\(index)', \(pair.period));
                """)
        }
        let found = try await database.open(.readOnly).expiryDifferences()
        #expect(found.rows == [2 * hour: 2])
        #expect(found.compared == 6)
    }

    @Test func `knows no average of periods before there is one`() async throws {
        let store = try TemporaryDatabase().open(.readOnly)
        #expect(try await store.periodsPerSubscription() == nil)
    }
}
