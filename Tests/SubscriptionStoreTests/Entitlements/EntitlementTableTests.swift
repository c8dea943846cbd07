import GRDB
import Reconciliation
import SubscriptionStore
import Subscriptions
import Testing

/// `trueup_entitlements`: what services read follows every write to the rows.
@Suite struct `The table of entitlements` {
    static let catalogue = ProductCatalogue(products: [
        "month": CatalogueProduct(grants: ["pro"]),
        "year": CatalogueProduct(grants: ["archive", "pro"]),
    ])

    /// Far after everything that is signed here.
    private static let end: Int64 = 9_000_000_000_000

    private func row(
        _ id: String, _ customer: String?, _ product: String? = "month", status: Int? = 1,
        signed: Int64? = 1000, until: Int64 = end
    ) -> LocalSubscription {
        var row = subscription(id, status: status, signed: signed, customer: customer)
        row.productID = product
        row.expiresDate = Timestamp(unixMilliseconds: until)
        return row
    }

    private func open(
        _ database: TemporaryDatabase, _ catalogue: ProductCatalogue? = catalogue
    ) throws -> SQLiteStore {
        try SQLiteStore.open(at: database.path, access: .readWrite, catalogue: catalogue)
    }

    /// A store whose entitlements were filled in before, as after a first import or run.
    private func opened(
        _ database: TemporaryDatabase, _ catalogue: ProductCatalogue? = catalogue
    ) async throws -> SQLiteStore {
        let store = try open(database, catalogue)
        try await store.bringEntitlementsUpToDate()
        return store
    }

    /// `customer: entitlement until of id`.
    private func listed(_ database: TemporaryDatabase) throws -> [String] {
        try database.rows(
            """
            SELECT customer_id, entitlement, ifnull(expires_date, 'life'), original_transaction_id
            FROM trueup_entitlements ORDER BY customer_id, entitlement
            """
        ).map { "\($0[0]): \($0[1]) until \($0[2]) of \($0[3])" }
    }

    private func notes(_ database: TemporaryDatabase) throws -> [String] {
        try database.rows("SELECT customer_id FROM trueup_entitlement_notes ORDER BY customer_id")
            .map { $0[0] }
    }

    @Test func `is filled in as rows are imported`() async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database)
        try store.load([
            row("1", "a"), row("2", "a", "year", until: 8000), row("3", "b", status: 2, until: 500),
            row("4", nil), row("5", "c", "unlisted"), row("6", "d", status: nil), row("7", ""),
        ])
        #expect(
            try listed(database) == [
                "a: archive until 8000 of 2", "a: pro until \(Self.end) of 1",
                "b: pro until 500 of 3",
            ])
        #expect(try notes(database).isEmpty)
    }

    /// A first import of a million rows would settle a million notes, and then go through all again.
    @Test func `notes no customer before it is first filled in`() async throws {
        let database = try TemporaryDatabase()
        let store = try open(database)
        try store.load([row("1", "a"), row("2", "b")])
        try database.execute("UPDATE subscriptions SET expires_date = 7000 WHERE customer_id = 'b'")
        #expect(try notes(database).isEmpty)
        #expect(try listed(database).isEmpty)
        try await store.bringEntitlementsUpToDate()
        #expect(
            try listed(database) == ["a: pro until \(Self.end) of 1", "b: pro until 7000 of 2"])
    }

    @Test func `follows a correction in the same transaction`() async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database)
        try store.load([row("1", "a"), row("2", "b")])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1", signed: 5000))
        try await night.apply()
        #expect(
            try listed(database) == ["a: pro until 5000 of 1", "b: pro until \(Self.end) of 2"])
        let details = try database.rows(
            "SELECT will_renew, signed_date, product_id, changed_in FROM trueup_entitlements")
        #expect(details == [["0", "5000", "month", "1"], ["NULL", "1000", "month", "0"]])
    }

    /// A kill is a transaction that never commits: neither the row nor the entitlement is changed.
    @Test func `is written with the row, or neither is`() async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database)
        try store.load([row("1", "a"), row("2", "b")])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1", signed: 5000))
        let before = try listed(database)
        try database.execute(
            """
            CREATE TRIGGER fault BEFORE UPDATE ON trueup_entitlements
            BEGIN SELECT RAISE(ABORT, 'killed'); END
            """)
        await #expect(throws: StoreError.self) { try await night.apply() }
        #expect(try database.value("SELECT group_concat(status) FROM subscriptions") == "1,1")
        #expect(try database.value("SELECT count(*) FROM trueup_ledger") == "0")
        #expect(try listed(database) == before)
        try database.execute("DROP TRIGGER fault")
        try await night.apply()
        #expect(try database.value("SELECT group_concat(status) FROM subscriptions") == "2,1")
        #expect(try listed(database).first == "a: pro until 5000 of 1")
    }

    /// To read all rows of `guest` with each transaction would take the square of their number.
    @Test func `follows the corrections of a placeholder once, as the run ends`() async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database)
        // One row short of a placeholder, and as many rows as make one, the last one a purchase.
        let most = 1_000
        try store.load(
            (0..<most).map { row("\(1_000 + $0)", "guest") }
                + (0..<most).map { row("\(5_000 + $0)", "many") } + [row("1", "a")])
        try database.execute(
            """
            INSERT INTO purchases (transaction_id, environment, bundle_id, original_transaction_id,
                product_id, customer_id) VALUES ('9', 'Production', 'com.example.app', '9', 'coins', 'guest')
            """)
        #expect(try notes(database) == ["guest"])
        try await store.bringEntitlementsUpToDate()
        let before = try listed(database)
        let night = try await Night.begin(store, Night.header("run-1"))
        let all = (0..<most).map { row("\(1_000 + $0)", "guest").key.originalTransactionID }
        for id in ["1"] + all { try await night.stage(drift(id, signed: 5000)) }
        for id in (0..<most).map({ "\(5_000 + $0)" }) {
            try await night.stage(drift(id, signed: 6000))
        }
        try await night.apply()
        #expect(try notes(database) == ["guest"])
        #expect(
            try listed(database) == [
                "a: pro until 5000 of 1", before[1], "many: pro until 6000 of 5000",
            ])
        try await night.conclude()
        #expect(try notes(database).isEmpty)
        #expect(try listed(database)[1] == "guest: pro until 5000 of 1000")
    }

    @Test func `follows an imported placeholder with the whole file`() async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database)
        try store.load((0...1_000).map { row("\(1_000 + $0)", "guest") } + [row("1", "a")])
        #expect(try notes(database) == ["guest"])
        try await store.bringEntitlementsUpToDate()
        #expect(try notes(database).isEmpty)
        #expect(try listed(database).map { $0.prefix(8) } == ["a: pro u", "guest: p"])
    }

    @Test func `follows an inserted row, and its reverting`() async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database, nil)
        try store.load([row("1", "a")])
        let night = try await Night.begin(store, Night.header("run-1"))
        var found = missing("9")
        found.corrections[0].rewrite {
            $0[.customerID] = FieldChange(before: .null, after: .text("a"))
            $0[.expiresDate] = FieldChange(
                before: .null, after: .time(Timestamp(unixMilliseconds: 7000)))
            $0[.signedDate] = FieldChange(
                before: .null, after: .time(Timestamp(unixMilliseconds: 5000)))
        }
        try await night.stage(found)
        try await night.apply()
        #expect(
            try listed(database) == ["a: month until \(Self.end) of 1", "a: pro until 7000 of 9"])
        // As the company, or a reverting, deletes it.
        try database.execute("DELETE FROM subscriptions WHERE original_transaction_id = '9'")
        try await store.bringEntitlementsUpToDate()
        #expect(
            try listed(database) == ["a: month until \(Self.end) of 1", "a: pro until 5000 of 9"])
    }

    @Test(arguments: [
        "UPDATE subscriptions SET expires_date = 6000 WHERE original_transaction_id = '1'",
        "UPDATE OR REPLACE subscriptions SET expires_date = 6000 WHERE original_transaction_id = '1'",
        """
        INSERT OR REPLACE INTO subscriptions (original_transaction_id, environment, bundle_id,
            customer_id, product_id, status, expires_date, signed_date)
        VALUES ('1', 'Production', 'com.example.app', 'a', 'month', 1, 6000, 1000)
        """,
        """
        INSERT INTO subscriptions (original_transaction_id, environment, bundle_id,
            customer_id, product_id, status, expires_date, signed_date)
        VALUES ('1', 'Production', 'com.example.app', 'a', 'month', 1, 6000, 1000)
        ON CONFLICT DO UPDATE SET expires_date = excluded.expires_date
        """,
    ])
    func `follows what services write with the next run, however they write`(
        write: String
    ) async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database)
        try store.load([row("1", "a"), row("2", "b")])
        try database.execute(write)
        #expect(try notes(database) == ["a"])
        // No transaction of trueup's own settles it: there may be many.
        try store.load([row("2", "b", until: 4000)], columns: [.expiresDate, .signedDate])
        #expect(try notes(database) == ["a"])
        _ = try await Night.begin(store, Night.header("run-1"))
        #expect(try listed(database) == ["a: pro until 6000 of 1", "b: pro until 4000 of 2"])
        #expect(try notes(database).isEmpty)
    }

    @Test(arguments: [true, false])
    func `moves with a row that goes to another customer`(isReplaced: Bool) async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database)
        try store.load([row("1", "a")])
        try database.execute(
            isReplaced
                ? """
                INSERT OR REPLACE INTO subscriptions (original_transaction_id, environment,
                    bundle_id, customer_id, product_id, status, expires_date, signed_date)
                VALUES ('1', 'Production', 'com.example.app', 'b', 'month', 1, 6000, 2000)
                """
                : "UPDATE subscriptions SET customer_id = 'b', expires_date = 6000, signed_date = 2000"
        )
        try await store.bringEntitlementsUpToDate()
        #expect(try listed(database) == ["a: pro until 1000 of 1", "b: pro until 6000 of 1"])
    }

    @Test func `keeps what was known while a row cannot be read`() async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database)
        try store.load([row("1", "a"), row("2", "a", until: 3000)])
        try database.execute(
            "UPDATE subscriptions SET status = 'broken' WHERE original_transaction_id = '1'")
        try await store.bringEntitlementsUpToDate()
        #expect(try listed(database) == ["a: pro until \(Self.end) of 1"])
        try database.execute(
            "UPDATE subscriptions SET status = 2 WHERE original_transaction_id = '1'")
        try await store.bringEntitlementsUpToDate()
        #expect(try listed(database) == ["a: pro until 3000 of 2"])
    }

    @Test func `ends what a new product does not grant, once`() async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database)
        try store.load([row("1", "a", "year")])
        for (signed, expected) in [(2000, "1"), (3000, "1")] {
            try database.execute(
                "UPDATE subscriptions SET product_id = 'month', signed_date = \(signed)")
            try await store.bringEntitlementsUpToDate()
            #expect(try listed(database).first == "a: archive until 2000 of 1", "\(expected)")
        }
    }

    @Test func `follows payments elsewhere`() async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database)
        try store.load([row("1", "a", status: 2, until: 500)])
        var paid = subscription("1")
        paid.paidElsewhereUntil = Timestamp(unixMilliseconds: 7000)
        try store.load([paid], columns: [.paidElsewhereUntil])
        #expect(try listed(database) == ["a: pro until 7000 of 1"])
        paid.paidElsewhereUntil = nil
        try store.load([paid], columns: [.paidElsewhereUntil])
        #expect(try listed(database) == ["a: pro until 500 of 1"])
    }

    @Test func `is made again for another catalogue, and only then`() async throws {
        let database = try TemporaryDatabase()
        let customers = (0..<250).map { "customer-\(1000 + $0)" }
        do {
            let store = try await opened(database, nil)
            try store.load(customers.enumerated().map { row("\($0.offset)", $0.element) })
            try await store.bringEntitlementsUpToDate()
            let state = try store.entitlementState()
            #expect(state.isOfCatalogue && state.waiting == 0)
        }
        #expect(try listed(database).allSatisfy { $0.contains(": month until \(Self.end)") })
        let store = try open(database)
        #expect(try !store.entitlementState().isOfCatalogue)
        _ = try await Night.begin(store, Night.header("run-1"))
        #expect(try store.entitlementState().isOfCatalogue)
        let lines = try listed(database)
        #expect(lines.count == 500)
        // Without the catalogue the product was an entitlement; it has ended.
        #expect(lines.count { $0.contains(": pro until \(Self.end)") } == 250)
        #expect(lines.count { $0.contains(": month until 1000") } == 250)
        let changes = try database.rows("SELECT changed_in FROM trueup_entitlements")
        _ = try await Night.begin(store, Night.header("run-2", at: Night.start + 1))
        #expect(try database.rows("SELECT changed_in FROM trueup_entitlements") == changes)
    }

    @Test func `is filled in for rows that were there before it, after a kill too`() async throws {
        let database = try TemporaryDatabase()
        let store = try open(database)
        let customers = (0..<150).map { "customer-\(1000 + $0)" }
        try store.load(customers.enumerated().map { row("\($0.offset)", $0.element) })
        try database.execute(
            """
            CREATE TRIGGER fault BEFORE INSERT ON trueup_entitlements
            WHEN NEW.customer_id = 'customer-1120' BEGIN SELECT RAISE(ABORT, 'killed'); END
            """)
        await #expect(throws: StoreError.self) { try await store.bringEntitlementsUpToDate() }
        #expect(try !store.entitlementState().isOfCatalogue)
        // The filling has passed this customer.
        #expect(try listed(database).contains("customer-1000: pro until \(Self.end) of 0"))
        try database.execute(
            "UPDATE subscriptions SET expires_date = 7000 WHERE customer_id = 'customer-1000'")
        #expect(try notes(database) == ["customer-1000"])
        try database.execute("DROP TRIGGER fault")
        try await store.bringEntitlementsUpToDate()
        #expect(try listed(database).count == 150)
        #expect(try listed(database).first == "customer-1000: pro until 7000 of 0")
        #expect(try store.entitlementState().isOfCatalogue)
    }

    /// Many customers are read at once: each gets what their own rows grant, whatever their names.
    @Test(arguments: [true, false])
    func `gives each of many customers their own, whatever their names`(isFirst: Bool) async throws
    {
        let database = try TemporaryDatabase()
        let store = isFirst ? try open(database) : try await opened(database)
        let awkward = [
            "a\"b", "a\\b", "[1]", "null", "7", "07", "é", "e\u{301}", "A", "a", "line\nbreak", "'",
            "\u{1F468}\u{200D}\u{1F469}", " a", "a ", "\u{FFFD}",
        ]
        let customers = awkward + (0..<250).map { "customer-\($0)" }
        let rows = customers.enumerated().flatMap { place, customer in
            [
                row("\(1000 + place)", customer, until: Self.end + Int64(place)),
                row("\(5000 + place)", customer, "year", until: 8000 + Int64(place)),
            ]
        }
        try store.load(rows.reversed())
        var said: [[Int]] = []
        try await store.bringEntitlementsUpToDate { said.append([$0, $1]) }
        #expect(said.last == (isFirst ? [customers.count, customers.count] : nil))
        let expected = customers.enumerated().flatMap { place, customer in
            [
                "\(customer): archive until \(8000 + place) of \(5000 + place)",
                "\(customer): pro until \(Self.end + Int64(place)) of \(1000 + place)",
            ]
        }
        let found = try listed(database)
        #expect(found.count == expected.count)
        // By bytes: Swift takes equivalent spellings for equal.
        #expect(Set(found.map { Array($0.utf8) }) == Set(expected.map { Array($0.utf8) }))
        try database.execute("UPDATE subscriptions SET status = 2 WHERE customer_id = '7'")
        try await store.bringEntitlementsUpToDate { said.append([$0, $1]) }
        #expect(said.last == [1, 1])
        #expect(try notes(database).isEmpty)
    }

    /// A service that rebuilt the table took the triggers with it, and wrote without them.
    @Test func `is made again after triggers were missing`() async throws {
        let database = try TemporaryDatabase()
        do {
            let store = try await opened(database)
            try store.load([row("1", "a")])
            try await store.bringEntitlementsUpToDate()
            try store.close()
        }
        try database.execute(
            "DROP TRIGGER trueup_note_updated; UPDATE subscriptions SET expires_date = 4000")
        #expect(try SQLiteStore.create(at: database.path).count == 1)
        let store = try open(database)
        _ = try await Night.begin(store, Night.header("run-1"))
        #expect(try listed(database) == ["a: pro until 4000 of 1"])
    }

    private func changes(_ night: Night) async throws -> [String] {
        var lines: [String] = []
        try await night.conclude().forEachEntitlementChange { change in
            let text = { (time: Timestamp?) in time.map { String($0.unixMilliseconds) } ?? "none" }
            let (before, after) = (text(change.wasUntil), text(change.until))
            lines.append(
                "\(change.customerID): \(change.entitlement) \(change.kind), \(before) to \(after)")
        }
        try await night.store.reportWasPublished(ofRun: night.run.runID)
        return lines
    }

    @Test func `lists its changes in the report of the run, once, and no imported rows`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try await opened(database)
        try store.load([row("1", "a"), row("2", "b"), row("3", "c", until: 6000)])
        let first = try await Night.begin(store, Night.header("run-1"))
        try await store.reportIsAwaited(ofRun: "run-1")
        try await first.stage(drift("1", signed: 5000))
        try await first.apply()
        #expect(try await changes(first) == ["a: pro shorter, \(Self.end) to 5000"])
        // A service's change, and two of one entitlement: the first state and the last.
        try database.execute(
            """
            UPDATE subscriptions SET expires_date = 7000 WHERE original_transaction_id = '3';
            INSERT INTO subscriptions (original_transaction_id, environment, bundle_id, customer_id,
                product_id, status, expires_date, signed_date)
            VALUES ('4', 'Production', 'com.example.app', 'd', 'month', 1, 8000, 1000)
            """)
        try await store.bringEntitlementsUpToDate()
        try database.execute(
            "UPDATE subscriptions SET expires_date = 8000 WHERE original_transaction_id = '3'")
        let killed = try await Night.begin(store, Night.header("run-2", at: Night.start + 1))
        _ = killed
        let next = try await Night.begin(store, Night.header("run-3", at: Night.start + 2))
        #expect(
            try await changes(next)
                == ["c: pro longer, 6000 to 8000", "d: pro new, none to 8000"])
        let last = try await Night.begin(store, Night.header("run-4", at: Night.start + 3))
        #expect(try await changes(last) == [])
    }

    /// The change is dated by the run before, because this one is not recorded when it takes it in.
    @Test func `lists what a run took in before it began as changed since that run`() async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database)
        try store.load([row("1", "a"), row("2", "b"), row("3", "c")])
        try await Night.begin(store, Night.header("run-1")).conclude()
        try database.execute(
            "UPDATE subscriptions SET customer_id = 'd' WHERE original_transaction_id = '2'")
        let night = try await Night.begin(store, Night.header("run-2", at: Night.start + 1))
        try await night.stage(drift("3", signed: 5000))
        try await night.apply()
        try await night.conclude()
        func changed(since run: String) throws -> [String] {
            var filter = EntitlementFilter()
            filter.changedIn = try store.number(ofRun: run)
            var customers: [String] = []
            try store.forEachEntitlement(matching: filter) { customers.append($0.key.customerID) }
            return customers
        }
        #expect(try changed(since: "run-2") == ["b", "c", "d"])
        try await Night.begin(store, Night.header("run-3", at: Night.start + 2)).conclude()
        #expect(try changed(since: "run-3") == [])
    }

    @Test func `lists its changes again where the report did not come out`() async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database)
        try store.load([row("1", "a")])
        try database.execute("UPDATE subscriptions SET expires_date = 7000")
        let unpublished = try await Night.begin(store, Night.header("run-1"))
        try await store.reportIsAwaited(ofRun: "run-1")
        try await unpublished.conclude()
        let next = try await Night.begin(store, Night.header("run-2", at: Night.start + 1))
        #expect(try await changes(next) == ["a: pro shorter, \(Self.end) to 7000"])
    }

    @Test func `is found by one search of an index`() async throws {
        let database = try TemporaryDatabase()
        for query in [
            """
            SELECT expires_date FROM trueup_entitlements WHERE bundle_id = 'a'
                AND environment = 'Production' AND customer_id = 'c' AND entitlement = 'pro'
            """,
            "SELECT entitlement FROM trueup_entitlements WHERE customer_id = 'c'",
        ] {
            let plan = try database.rows("EXPLAIN QUERY PLAN " + query)
            #expect(plan.count == 1)
            #expect(plan.first?.last?.contains("SEARCH trueup_entitlements USING") == true)
        }
    }

    @Test func `forgets an erased customer without rows, and keeps one with rows`() async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database)
        try store.load([row("1", "a"), row("2", "b")])
        try database.execute("DELETE FROM subscriptions WHERE original_transaction_id = '1'")
        for customer in ["a", "b"] {
            _ = try await store.eraseEvidence(
                ofCustomer: customer, at: Timestamp(unixMilliseconds: Night.start))
        }
        #expect(try listed(database) == ["b: pro until \(Self.end) of 2"])
        try await store.bringEntitlementsUpToDate()
        #expect(try listed(database) == ["b: pro until \(Self.end) of 2"])
    }

    private static let shop = ProductCatalogue(products: [
        "month": CatalogueProduct(grants: ["pro"]),
        "lifetime": CatalogueProduct(kind: .nonConsumable, grants: ["pro"]),
        "season": CatalogueProduct(
            kind: .nonRenewing, grants: ["live"], duration: CalendarDuration("P2D")),
        "coins": CatalogueProduct(kind: .consumable, grants: ["pro"]),
    ])

    private func buy(
        _ id: String, _ customer: String, _ product: String, _ type: String,
        _ change: (inout LocalTransaction) -> Void = { _ in }
    ) -> LocalTransaction {
        var bought = LocalTransaction(
            key: TransactionKey(
                bundleID: "com.example.app", environment: "Production", transactionID: id),
            originalTransactionID: id)
        bought.customerID = customer
        bought.productID = product
        bought.type = type
        bought.purchaseDate = Timestamp(unixMilliseconds: 1000)
        bought.signedDate = Timestamp(unixMilliseconds: 2000)
        change(&bought)
        return bought
    }

    private func load(_ bought: [LocalTransaction], into store: SQLiteStore) throws {
        _ = try store.loadTransactions(
            into: .purchases, columns: Set(TransactionField.ofPurchases)
        ) { add in
            for row in bought { _ = try add(row) }
        }
    }

    @Test func `counts one-time purchases that are imported, and no consumable`() async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database, Self.shop)
        try store.load([row("1", "a")])
        try load(
            [
                buy("11", "a", "lifetime", "Non-Consumable"),
                buy("12", "b", "season", "Non-Renewing Subscription") { $0.quantity = 2 },
                buy("13", "c", "coins", "Consumable"),
                buy("14", "d", "lifetime", "Non-Consumable") {
                    $0.revocationDate = Timestamp(unixMilliseconds: 1500)
                },
                buy("15", "e", "lifetime", "Non-Consumable") {
                    $0.revocationDate = Timestamp(unixMilliseconds: 1500)
                    $0.revocationPercentage = 40_000
                },
            ], into: store)
        let twoDays: Int64 = 2 * 86_400_000
        #expect(
            try listed(database) == [
                "a: pro until life of 11", "b: live until \(1000 + 2 * twoDays) of 12",
                "d: pro until 1500 of 14", "e: pro until life of 15",
            ])
        #expect(try notes(database).isEmpty)
        #expect(try store.knows(customer: "c"))
    }

    @Test func `follows the refund of a purchase, its reversal, and its reverting`() async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database, Self.shop)
        try load(
            [buy("11", "a", "lifetime", "Non-Consumable")], into: store)
        let night = try await Night.begin(store, Night.header("run-1"))
        let purchase = TransactionKey(
            bundleID: "com.example.app", environment: "Production", transactionID: "11")
        var refund = RowOutcome(key: key("11"), verdict: nil)
        refund.purchase = JudgedPurchase(key: purchase, verdict: .discrepancy)
        refund.evidence = [payload("refund")]
        refund.corrections = [
            PlannedCorrection(
                target: .updatePeriod(purchase, of: key("11")),
                changes: .purchase([
                    .revocationDate: FieldChange(
                        before: .null, after: .time(Timestamp(unixMilliseconds: 1500)))
                ]), kinds: [.purchaseRefundMissed], evidence: refund.evidence[0].digest,
                evidenceRenewal: nil, appleSignedDate: Timestamp(unixMilliseconds: 5000),
                reason: "Stores a refund.")
        ]
        try await night.stage(refund)
        try await night.apply()
        #expect(try listed(database) == ["a: pro until 1500 of 11"])
        try await night.conclude()
        let undo = try await Night.begin(store, Night.header("undo", job: "undo run-1"))
        _ = try await store.stageUndo(ofRun: "run-1", in: undo.pass, run: undo.run)
        try await undo.apply()
        #expect(try listed(database) == ["a: pro until life of 11"])
    }

    /// The columns that other programs may write, each once, and the whole row.
    @Test(arguments: [
        "UPDATE purchases SET revocation_date = 1500", "UPDATE purchases SET type = 'Consumable'",
        "UPDATE purchases SET customer_id = 'b'", "DELETE FROM purchases",
        """
        REPLACE INTO purchases (transaction_id, original_transaction_id, environment, bundle_id,
            customer_id) VALUES ('11', '11', 'Production', 'com.example.app', 'b')
        """,
    ])
    func `notes the customers whose purchases another program changes`(write: String) async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database, Self.shop)
        try load(
            [buy("11", "a", "lifetime", "Non-Consumable")], into: store)
        try database.execute(write)
        #expect(try notes(database).first == "a")
        try await store.bringEntitlementsUpToDate()
        #expect(try notes(database).isEmpty)
        #expect(try !listed(database).contains("a: pro until life of 11"))
    }

    @Test func `continues what was known of a purchase that cannot be read`() async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database, Self.shop)
        try load(
            [buy("11", "a", "lifetime", "Non-Consumable")], into: store)
        try database.execute("UPDATE purchases SET revocation_date = 'soon'")
        try await store.bringEntitlementsUpToDate()
        #expect(try listed(database) == ["a: pro until life of 11"])
    }

    @Test func `is filled in for customers who have purchases alone`() async throws {
        let database = try TemporaryDatabase()
        do {
            let store = try await opened(database, nil)
            try load(
                [buy("11", "a", "lifetime", "Non-Consumable")], into: store)
            #expect(try listed(database) == ["a: lifetime until life of 11"])
            try store.close()
        }
        let store = try open(database, Self.shop)
        try await store.bringEntitlementsUpToDate()
        #expect(try listed(database).contains("a: pro until life of 11"))
    }

    /// SQLite does not let a service rebuild a table that a trigger of another table names.
    @Test(arguments: ["subscriptions", "purchases"])
    func `lets a service rebuild its table`(name: String) async throws {
        let database = try TemporaryDatabase()
        let store = try await opened(database, Self.shop)
        try store.load([row("1", "a")])
        try load(
            [buy("11", "b", "lifetime", "Non-Consumable")], into: store)
        try store.close()
        let create = try #require(
            try database.value("SELECT sql FROM sqlite_master WHERE name = '\(name)'"))
        try database.execute(
            create.replacing("CREATE TABLE \(name)", with: "CREATE TABLE anew") + """
                ;
                INSERT INTO anew SELECT * FROM \(name);
                DROP TABLE \(name);
                ALTER TABLE anew RENAME TO \(name);
                """)
        // `trueup init` makes the triggers and indexes again, which go with the old table.
        #expect(try SQLiteStore.create(at: database.path).count > 1)
        let reopened = try open(database, Self.shop)
        try await reopened.bringEntitlementsUpToDate()
        #expect(
            try listed(database) == ["a: pro until \(Self.end) of 1", "b: pro until life of 11"])
    }
}
