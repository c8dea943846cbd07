import SubscriptionStore
import Subscriptions
import Testing

/// `paid_elsewhere_until`, which stands beside the table that the company's services know.
@Suite struct `Payments elsewhere` {
    private static func time(_ milliseconds: Int64) -> Timestamp {
        Timestamp(unixMilliseconds: milliseconds)
    }

    private func row(
        _ id: String, until: Int64?, status: Int? = nil, signed: Int64? = nil
    ) -> LocalSubscription {
        var row = subscription(id, status: status, signed: signed)
        row.paidElsewhereUntil = until.map(Self.time)
        return row
    }

    private func entries(_ database: TemporaryDatabase) throws -> [[String]] {
        try database.rows(
            """
            SELECT original_transaction_id, paid_until FROM trueup_other_payments
            ORDER BY original_transaction_id
            """)
    }

    @Test func `leave the row, its version and the columns of its table as they are`() async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("2")])
        let before = try database.rows("SELECT * FROM subscriptions")
        #expect(before.first?.count == 17)
        let counts = try store.load(
            [row("1", until: 5000), row("2", until: nil)], columns: [.paidElsewhereUntil])
        #expect(counts.updated == 1)
        #expect(counts.unchanged == 1)
        #expect(try database.rows("SELECT * FROM subscriptions") == before)
        #expect(try entries(database) == [["1", "5000"]])
        #expect(try store.subscriptions().map(\.paidElsewhereUntil) == [Self.time(5000), nil])
        let held = try await store.rows(holding: ["1"])
        #expect(held.first?.row.paidElsewhereUntil == Self.time(5000))
        #expect(held.first?.row.rowVersion == 1)
    }

    @Test func `are changed, taken out and told to be as they are`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(["1", "2", "3"].map { row($0, until: 5000, status: 1, signed: 1000) })
        let counts = try store.load(
            [row("1", until: 6000), row("2", until: nil), row("3", until: 5000)],
            columns: [.paidElsewhereUntil])
        #expect(counts.updated == 2)
        #expect(counts.unchanged == 1)
        #expect(try entries(database) == [["1", "6000"], ["3", "5000"]])
        // A file without the column leaves them.
        try store.load(
            [subscription("1", status: 2, signed: 1000)], columns: [.status, .signedDate])
        #expect(try store.subscriptions().first?.paidElsewhereUntil == Self.time(6000))
        #expect(try store.subscriptions().first?.rowVersion == 2)
    }

    @Test func `come with other columns, as one row, and not with a line that is older`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1", signed: 1000), subscription("2", signed: 3000)])
        let lines = [
            row("1", until: 5000, status: 2, signed: 2000),
            row("2", until: 5000, status: 2, signed: 2000),
            row("3", until: 5000, status: 2, signed: 2000),
        ]
        let columns: Set<SubscriptionField> = [.status, .signedDate, .paidElsewhereUntil]
        let forecast = try store.loadSubscriptions(columns: columns, dryRun: true) { add in
            for line in lines { _ = try add(line) }
        }
        #expect(try entries(database).isEmpty)
        let counts = try store.load(lines, columns: columns)
        #expect(counts == forecast)
        #expect(counts.updated == 1)
        #expect(counts.skippedAsOlder == 1)
        #expect(counts.inserted == 1)
        #expect(try store.subscriptions().map(\.status) == [2, 1, 2])
        #expect(try entries(database) == [["1", "5000"], ["3", "5000"]])
        #expect(try store.load(lines, columns: columns).unchanged == 2)
    }

    @Test func `are given line by line`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([row("1", until: 5000), row("2", until: 5000)])
        let fields = SubscriptionField.allCases
        let status = try #require(fields.firstIndex(of: .status))
        let paid = try #require(fields.firstIndex(of: .paidElsewhereUntil))
        let counts = try store.loadSubscriptions(
            columns: [.status, .paidElsewhereUntil],
            partly: { add in
                _ = try add(row("1", until: nil, status: 1), 1 << UInt64(status))
                _ = try add(row("2", until: nil), 1 << UInt64(paid))
            })
        #expect(counts.updated == 2)
        #expect(try entries(database) == [["1", "5000"]])
        #expect(try store.subscriptions().map(\.status) == [1, nil])
    }

    @Test func `are found again by a table that was rebuilt with the columns it has`() throws {
        let database = try TemporaryDatabase()
        try database.open().load([row("1", until: 5000, status: 1, signed: 1000)])
        try database.execute(
            """
            CREATE TABLE rebuilt (
                original_transaction_id TEXT, environment TEXT, bundle_id TEXT, customer_id TEXT,
                app_account_token TEXT, product_id TEXT, status INTEGER, expires_date INTEGER,
                grace_period_expires_date INTEGER, auto_renew_status INTEGER,
                auto_renew_product_id TEXT, revocation_date INTEGER, in_app_ownership_type TEXT,
                latest_transaction_id TEXT, web_order_line_item_id TEXT, signed_date INTEGER,
                row_version INTEGER NOT NULL DEFAULT 1,
                PRIMARY KEY (bundle_id, environment, original_transaction_id));
            INSERT INTO rebuilt SELECT * FROM subscriptions;
            DROP TABLE subscriptions;
            ALTER TABLE rebuilt RENAME TO subscriptions;
            """)
        try SQLiteStore.create(at: database.path)
        let found = try database.open().subscriptions()
        #expect(found.map(\.paidElsewhereUntil) == [Self.time(5000)])
    }

    @Test func `are named by an export only where a row has one`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        #expect(try store.columnsInUse() == SubscriptionField.stored)
        try store.load([row("1", until: 5000)], columns: [.paidElsewhereUntil])
        #expect(try store.columnsInUse() == SubscriptionField.stored + [.paidElsewhereUntil])
        try database.execute("DELETE FROM subscriptions")
        #expect(try store.columnsInUse() == SubscriptionField.stored)
    }

    @Test func `count among the compared values of the schedule as of the row`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let before = ValuesDigest(of: try #require(try store.subscriptions().first))
        #expect(try await due(store, "run-1", knowing: before) == 0)
        try store.load([row("1", until: 5000)], columns: [.paidElsewhereUntil])
        let after = ValuesDigest(of: try #require(try store.subscriptions().first))
        #expect(try await due(store, "run-2", knowing: before) == 1)
        #expect(try await due(store, "run-3", knowing: after) == 0)
    }

    /// How many rows have other values than these.
    private func due(
        _ store: SQLiteStore, _ runID: String, knowing known: ValuesDigest
    ) async throws -> Int {
        let night = try await Night.begin(store, Night.header(runID))
        let counts = try await store.schedule(
            ScheduleRequest(
                now: night.run.started, sweepMilliseconds: 1, sweepEndedMilliseconds: 1,
                sample: .rows(0), seed: 7),
            in: night.pass, run: night.run, level: { _ in 0 },
            due: { row, _ in row.values == known ? nil : .changed })
        try await night.conclude()
        return counts.due[.changed, default: 0]
    }

    @Test func `go with the customer who is erased`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(
            ["1", "2"].map { id in
                var line = row(id, until: 5000)
                line.customerID = "customer \(id)"
                return line
            })
        _ = try await store.eraseEvidence(ofCustomer: "customer 1", at: Self.time(Night.start))
        #expect(try entries(database) == [["2", "5000"]])
        #expect(try store.subscriptions().map(\.customerID) == ["customer 1", "customer 2"])
    }
}
