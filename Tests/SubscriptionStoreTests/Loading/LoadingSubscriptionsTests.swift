import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `Loading subscriptions` {
    @Test func `gives back every column in key order`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        var full = subscription("2")
        full.appAccountToken = "token"
        full.productID = "pro"
        full.expiresDate = Timestamp(unixMilliseconds: -5)
        full.gracePeriodExpiresDate = Timestamp(unixMilliseconds: 253_402_300_800_000)
        full.autoRenewStatus = 0
        full.autoRenewProductID = "basic"
        full.revocationDate = Timestamp(unixMilliseconds: 7)
        full.inAppOwnershipType = "PURCHASED"
        full.latestTransactionID = "22"
        full.webOrderLineItemID = "222"
        let counts = try store.load([full, subscription("10"), subscription("1", status: nil)])
        #expect(counts.inserted == 3)
        full.rowVersion = 1
        let rows = try store.subscriptions()
        #expect(rows.map(\.key.originalTransactionID) == ["1", "10", "2"])
        #expect(rows.last == full)
    }

    @Test func `says how many lines it has compared, of new rows and of stored ones`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let rows = (0..<1200).map { subscription("\(10_000 + $0)") }
        for lines in [rows, rows + [subscription("9")]] {
            var said: [[Int]] = []
            _ = try store.loadSubscriptions(
                columns: [.status, .customerID],
                partly: { add in for line in lines { _ = try add(line, nil) } },
                progress: { said.append([$0, $1]) })
            #expect(said.first == [0, lines.count])
            #expect(said.last == [lines.count, lines.count])
            #expect(said.map { $0[0] } == said.map { $0[0] }.sorted())
            #expect(said.count > 2)
        }
    }

    @Test func `skips a line that is older than the stored row and counts it`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1", status: 1, signed: 2000)])
        let counts = try store.load([subscription("1", status: 2, signed: 1999)])
        #expect(counts.skippedAsOlder == 1)
        #expect(counts.updated == 0)
        #expect(try store.subscriptions().first?.status == 1)
    }

    @Test func `updates with a line signed at the same time or later`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1", status: 1), subscription("2", status: 1)])
        let counts = try store.load([
            subscription("1", status: 2), subscription("2", status: 5, signed: 1001),
        ])
        #expect(counts.updated == 2)
        #expect(try store.subscriptions().map(\.status) == [2, 5])
        #expect(try store.subscriptions().map(\.rowVersion) == [2, 2])
    }

    @Test func `leaves an equal row's version alone`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let counts = try store.load([subscription("1")])
        #expect(counts.unchanged == 1)
        #expect(counts.updated == 0)
        #expect(try store.subscriptions().first?.rowVersion == 1)
    }

    @Test func `leaves empty text alone, which an export writes as an empty column`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("2")])
        try database.execute(
            "UPDATE subscriptions SET app_account_token = '', customer_id = '', expires_date = ''")
        var exported = try store.subscriptions()
        let counts = try store.load(exported)
        #expect([counts.unchanged, counts.updated] == [2, 0])
        #expect(try store.subscriptions().map(\.rowVersion) == [2, 2])
        exported[0].appAccountToken = "token"
        #expect(try store.load(exported).updated == 1)
        #expect(
            try database.rows(
                "SELECT app_account_token, customer_id, row_version FROM subscriptions")
                == [["token", "", "3"], ["", "", "2"]])
    }

    @Test func `a bare list of ids erases nothing and adds unknown rows`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1", customer: "c1")])
        let bare = ["1", "2"].map { LocalSubscription(key: key($0)) }
        let counts = try store.load(bare, columns: [.originalTransactionID])
        // The stored row says what it rests on, the line does not.
        #expect(counts.skippedAsOlder == 1)
        #expect(counts.inserted == 1)
        let rows = try store.subscriptions()
        #expect(rows[0].customerID == "c1")
        #expect(rows[0].status == 1)
        #expect(rows[1].status == nil)
    }

    @Test func `tells of a key that the file holds already and keeps the first line`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        var outcomes: [LineOutcome] = []
        let counts = try store.loadSubscriptions(columns: [.status]) { add in
            outcomes.append(try add(subscription("1", status: 3)))
            outcomes.append(try add(subscription("1", status: 4)))
        }
        #expect(outcomes == [.accepted, .duplicateKey])
        #expect(counts.inserted == 1)
        #expect(try store.subscriptions().map(\.status) == [3])
    }

    @Test func `loads nothing when the producer throws, and passes its error`() throws {
        struct BadLine: Error, Equatable {}
        let database = try TemporaryDatabase()
        let store = try database.open()
        #expect(throws: BadLine()) {
            try store.loadSubscriptions(columns: []) { add in
                _ = try add(subscription("1"))
                throw BadLine()
            }
        }
        #expect(try store.subscriptions().isEmpty)
    }

    @Test func `ends at the row that a constraint of the company's refuses, and names it`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try database.execute("CREATE UNIQUE INDEX own ON subscriptions (app_account_token)")
        var rows = (0..<1200).map { subscription("\(10_000 + $0)") }
        for index in rows.indices { rows[index].appAccountToken = "token-\(index)" }
        rows[1100].appAccountToken = "token-5"
        let counts = try store.load(rows)
        let refusal = try #require(counts.refusal)
        #expect(refusal.contains("the row 11100 in the table `subscriptions`"), "\(refusal)")
        #expect(refusal.contains("UNIQUE constraint failed"), "\(refusal)")
        #expect([counts.inserted, counts.updated] == [1100, 0])
        #expect(try store.subscriptions().count == 1100)
        // With the row mended, the same file loads the rest.
        rows[1100].appAccountToken = "token-1100"
        let rest = try store.load(rows)
        #expect(rest.refusal == nil)
        #expect([rest.inserted, rest.updated, rest.unchanged] == [100, 0, 1100])
    }

    @Test func `ends at the row that a trigger of the company's refuses to change`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let ids = ["1", "2", "3"]
        try store.load(ids.map { subscription($0, status: 1) })
        try database.execute(
            """
            CREATE TRIGGER own BEFORE UPDATE OF status ON subscriptions
            WHEN new.original_transaction_id = '2' BEGIN SELECT RAISE(ABORT, 'not this one'); END
            """)
        let counts = try store.load(ids.map { subscription($0, status: 2) })
        let refusal = try #require(counts.refusal)
        #expect(refusal.contains("refused the row 2 "), "\(refusal)")
        #expect(refusal.contains("not this one"), "\(refusal)")
        #expect(counts.updated == 1)
        #expect(try store.subscriptions().map(\.status) == [2, 1, 1])
    }

    @Test func `lets the company's services write while lines are produced`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let counts = try store.loadSubscriptions(columns: []) { add in
            _ = try add(subscription("1"))
            try database.execute(
                """
                INSERT INTO subscriptions (bundle_id, environment, original_transaction_id)
                VALUES ('com.example.app', 'Production', '9')
                """)
            _ = try add(subscription("2"))
        }
        #expect(counts.inserted == 2)
        #expect(try store.subscriptions().count == 3)
    }

    @Test func `keeps garbage that others wrote apart from what is absent`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try database.execute(
            """
            INSERT INTO subscriptions (bundle_id, environment, original_transaction_id, status,
                expires_date, signed_date, customer_id, product_id)
            VALUES ('', 'Mars', 2E+15, 'active', 'tomorrow', 1.5, 17, x'ff41')
            """)
        let row = try #require(try store.subscriptions().first)
        #expect(row.key.originalTransactionID == "2.0e+15")
        #expect(row.status == nil)
        #expect(row.expiresDate == nil)
        #expect(row.signedDate == nil)
        #expect(row.customerID == "17")
        #expect(row.productID == nil)
        #expect(
            row.unreadable == [
                .status: "active", .expiresDate: "tomorrow", .signedDate: "1.5",
                .productID: "x'ff41'",
            ])
    }

    /// What a service may have to wait for: counted in rows, not in time.
    @Test func `no transaction of a large file changes more than some hundred rows`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let rows = (0..<3000).map { subscription(String(100_000 + $0)) }
        try database.execute(
            """
            CREATE TRIGGER fault BEFORE INSERT ON subscriptions
            WHEN NEW.original_transaction_id = '101900'
            BEGIN SELECT RAISE(ABORT, 'no more'); END;
            """)
        let refused = try store.load(rows)
        #expect(refused.inserted == 1900)
        #expect(refused.refusal?.contains("the row 101900") == true)
        let committed = try store.subscriptions().count
        #expect((900...1900).contains(committed), "\(committed) of 1900")
        // Loading the file again merges the rest.
        try database.execute("DROP TRIGGER fault")
        let again = try store.load(rows)
        #expect(again.inserted == 3000 - committed)
        #expect(again.unchanged == committed)
    }

    @Test func `a large file leaves the schema and the versions as a small one does`() throws {
        let database = try TemporaryDatabase()
        let schema = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
        let before = try database.rows(schema)
        let store = try database.open()
        let ids = (0..<10_000).map { String(1_000_000 + ($0 &* 7919) % 10_000) }
        #expect(try store.load(ids.map { subscription($0) }).inserted == 10_000)
        let second = try store.load(
            ids.enumerated().map { subscription($1, status: $0 < 100 ? 2 : 1) })
        #expect(second.updated == 100)
        #expect(second.unchanged == 9_900)
        try database.execute("DELETE FROM subscriptions")
        #expect(try store.load(ids.map { subscription($0) }).inserted == 10_000)
        #expect(try database.rows(schema) == before)
        #expect(
            try database.rows(
                "SELECT row_version, count(*) FROM subscriptions GROUP BY row_version")
                == [["2", "9900"], ["3", "100"]])
        #expect(try database.value("PRAGMA integrity_check") == "ok")
    }
}
