import SubscriptionStore
import Subscriptions
import Synchronization
import Testing

/// The scan of every row, which reads columns and checks where SQLite keeps them.
@Suite struct `The scan of all rows` {
    private let database: TemporaryDatabase
    private let store: SQLiteStore

    init() throws {
        database = try TemporaryDatabase()
        store = try database.open()
    }

    /// What the schedule is shown of each row.
    private func scanned(
        _ night: Night, due: QuestionReason? = nil, sample: Int = 0
    ) async throws -> [ScheduledRow] {
        let seen = Mutex<[ScheduledRow]>([])
        let request = ScheduleRequest(
            now: night.run.started, sweepMilliseconds: 30 * Milliseconds.perDay,
            sweepEndedMilliseconds: 180 * Milliseconds.perDay, sample: .rows(sample), seed: 7)
        _ = try await night.store.schedule(
            request, in: night.pass, run: night.run, level: { _ in 0 },
            due: { row, _ in
                seen.withLock { $0.append(row) }
                return due
            })
        return seen.withLock { $0 }
    }

    private func insert(_ id: String, bundle: String = app.bundleID) throws {
        try database.execute(
            """
            INSERT INTO subscriptions (original_transaction_id, environment, bundle_id, status)
            VALUES ('\(id)', 'Production', '\(bundle)', 1)
            """)
    }

    private func note(_ id: String, bundle: String = app.bundleID, agreed: Int64) throws {
        try database.execute(
            """
            INSERT INTO trueup_checks (bundle_id, environment, original_transaction_id, asked_at,
                is_lasting, agreed)
            VALUES ('\(bundle)', 'Production', '\(id)', 5000, 1, \(agreed))
            """)
    }

    @Test func `gives the digest of each row as it reads column by column`() async throws {
        let values = [
            "product_id = 'pro', app_account_token = 'a-1', expires_date = 1790000000000",
            "product_id = ''", "product_id = 'größe'", "product_id = 'a' || char(0) || 'b'",
            "product_id = CAST(x'c328' AS TEXT)", "product_id = x'00ff'", "product_id = 5",
            "expires_date = 'soon'", "expires_date = ''", "expires_date = 1.5",
            "status = 'often'", "auto_renew_status = -1", "latest_transaction_id = '2000000001'",
            "revocation_date = 9223372036854775807", "product_id = char(0xFFFD)",
        ]
        for (index, value) in values.enumerated() {
            try insert("\(100 + index)")
            try database.execute(
                """
                UPDATE subscriptions SET \(value) WHERE original_transaction_id = '\(100 + index)'
                """)
        }
        for paysElsewhere in [false, true] {
            if paysElsewhere {
                try database.execute(
                    """
                    INSERT INTO trueup_other_payments
                    VALUES ('\(app.bundleID)', 'Production', '101', 1790000000000)
                    """)
            }
            let run = Night.header(paysElsewhere ? "run-2" : "run-1")
            let night = try await Night.begin(store, run)
            let rows = try await store.rows(after: nil, limit: 100).map(\.row)
            let scanned = try await scanned(night)
            #expect(scanned.map(\.key) == rows.map(\.key))
            #expect(scanned.map(\.values) == rows.map { ValuesDigest(of: $0) })
            try await night.conclude()
        }
    }

    @Test func `gives the digest of columns that the table got later`() async throws {
        for column in ["quantity", "renewal_quantity", "revoked_seats"] {
            try database.execute("ALTER TABLE subscriptions ADD COLUMN \(column)")
        }
        let values = [
            "quantity = 5", "renewal_quantity = 5", "revoked_seats = 5", "quantity = ''",
            "quantity = 'five'", "renewal_quantity = 'five'", "renewal_quantity = 0.5",
            "quantity = 5, renewal_quantity = 5", "product_id = 'pro'",
        ]
        for (index, value) in values.enumerated() {
            try insert("\(100 + index)")
            try database.execute(
                "UPDATE subscriptions SET \(value) WHERE original_transaction_id = '\(100 + index)'"
            )
        }
        let night = try await Night.begin(store, Night.header("run-1"))
        let rows = try await store.rows(after: nil, limit: 100).map(\.row)
        let digests = try await scanned(night).map(\.values)
        #expect(digests == rows.map { ValuesDigest(of: $0) })
        #expect(Set(digests).count == values.count)
    }

    @Test func `finds the check of each row among others, whatever is missing on either side`()
        async throws
    {
        let bundles = ["com.example.app", "com.example.app.more", "org.example"]
        for bundle in bundles {
            for id in ["1", "10", "2", "20", "3"] { try insert(id, bundle: bundle) }
            // Not of "10" and "3"; of rows that are gone before, between and behind the others.
            for (number, id) in ["0", "1", "15", "2", "20", "4"].enumerated() {
                try note(id, bundle: bundle, agreed: Int64(number))
            }
        }
        try note("9", bundle: "net.example", agreed: 99)
        let night = try await Night.begin(store, Night.header("run-1"))
        let found = try await scanned(night).map { row in
            let agreed = row.check.map { "\($0.check.values.bits)" }
            return row.key.originalTransactionID + " " + (agreed ?? "none")
        }
        let expected = ["1 1", "10 none", "2 3", "20 4", "3 none"]
        #expect(found == expected + expected + expected)
    }

    @Test func `loses no row and no check between two chunks`() async throws {
        try database.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
            INSERT INTO subscriptions (original_transaction_id, environment, bundle_id, status)
            SELECT CAST(1000000 + i AS TEXT), 'Production', '\(app.bundleID)', 1 + i % 2 FROM n;
            INSERT INTO trueup_checks (bundle_id, environment, original_transaction_id, asked_at,
                is_lasting, agreed)
            SELECT bundle_id, environment, original_transaction_id,
                CAST(original_transaction_id AS INTEGER), 0, 1
            FROM subscriptions WHERE CAST(original_transaction_id AS INTEGER) % 3 > 0;
            """)
        let night = try await Night.begin(store, Night.header("run-1"))
        let rows = try await scanned(night, sample: 50)
        #expect(rows.map(\.key.originalTransactionID) == (1...5000).map { "\(1_000_000 + $0)" })
        for row in rows {
            let number = try #require(Int64(row.key.originalTransactionID))
            #expect(
                row.check?.askedAt.unixMilliseconds == (number % 3 > 0 ? number : nil))
        }
    }

    @Test func `an unchanged row is quiet, and one that was written to and back as well`()
        async throws
    {
        try store.load([subscription("1"), subscription("2")])
        let digest = ValuesDigest(of: subscription("1"))
        for id in ["1", "2"] { try note(id, agreed: Int64(bitPattern: digest.bits)) }
        try database.execute(
            """
            UPDATE subscriptions SET status = 5 WHERE original_transaction_id = '2';
            UPDATE subscriptions SET status = 1 WHERE original_transaction_id = '2'
            """)
        let night = try await Night.begin(store, Night.header("run-1"))
        for row in try await scanned(night) { #expect(row.check?.check.values == row.values) }
    }
}
