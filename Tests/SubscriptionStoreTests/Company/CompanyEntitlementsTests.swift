import Reconciliation
import SubscriptionStore
import Subscriptions
import TestSupport
import Testing

/// The company's own table of entitlements, which its services read.
@Suite struct `The company's table of entitlements` {
    private static let now = Timestamp(unixMilliseconds: Night.start)
    private static let table = """
        CREATE TABLE rights (
            bundle_id TEXT NOT NULL, environment TEXT NOT NULL, customer_id TEXT NOT NULL,
            entitlement TEXT NOT NULL, expires_date INTEGER, grace_period_expires_date INTEGER,
            original_transaction_id TEXT NOT NULL, product_id TEXT NOT NULL, will_renew INTEGER,
            signed_date INTEGER, note TEXT DEFAULT 'theirs',
            PRIMARY KEY (bundle_id, environment, customer_id, entitlement))
        """

    private struct Place {
        let database: TemporaryDatabase
        var company: CompanyFile

        init(table: String? = `The company's table of entitlements`.table) throws {
            database = try TemporaryDatabase()
            company = try CompanyFile(beside: database)
            company.mapping.entitlements = CompanyTableName(name: "rights")
            if let table { try company.execute(table) }
        }

        func open(
            _ catalogue: ProductCatalogue? = nil, naming: EventNaming? = nil
        ) throws -> SQLiteStore {
            try SQLiteStore.open(
                at: database.path, access: .readWrite, naming: naming, company: company.link(),
                catalogue: catalogue)
        }

        private static let columns = """
            bundle_id, environment, customer_id, entitlement, expires_date,
            grace_period_expires_date, original_transaction_id, product_id, will_renew, signed_date
            """
        private static func query(_ table: String) -> String {
            "SELECT \(columns) FROM \(table) ORDER BY customer_id, entitlement"
        }

        func there() throws -> [[String]] { try company.rows(Self.query("rights")) }
        func here() throws -> [[String]] { try database.rows(Self.query("trueup_entitlements")) }
        /// `customer: entitlement until`.
        func listed() throws -> [String] {
            try there().map { "\($0[2]): \($0[3]) until \($0[4])" }
        }
    }

    /// When the rows of `CompanyFile` end.
    private static let end = "1790000000000"
    private static let all = ["1", "2", "3"].map { "\($0): gold until \(end)" }

    private func corrected(_ place: Place, naming: EventNaming? = nil) async throws -> Night {
        let store = try place.open(naming: naming)
        _ = try await store.refreshCopy(for: .apply, at: Self.now)
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1", signed: 1_789_000_000_000).ofCopy)
        try await night.apply()
        return night
    }

    @Test func `is filled in before a run checks anything, and a check leaves it alone`()
        async throws
    {
        let place = try Place()
        let store = try place.open()
        _ = try await store.refreshCopy(for: .check, at: Self.now)
        #expect(try place.there().isEmpty)
        _ = try await store.refreshCopy(for: .apply, at: Self.now)
        #expect(try place.listed() == Self.all)
        #expect(try place.there() == place.here())
    }

    /// An event names the entitlements that it changes, and so settles them before the commit.
    @Test(
        arguments: [nil, EventNaming([.init(.correction)], delivered: [.correction])]
            as [EventNaming?])
    func `follows a correction in the transaction of the row, and its undo`(
        naming: EventNaming?
    ) async throws {
        let place = try Place()
        let night = try await corrected(place, naming: naming)
        #expect(try place.listed().first == "1: gold until 1789000000000")
        #expect(try place.there() == place.here())
        #expect(try place.company.rows("SELECT DISTINCT note FROM rights") == [["theirs"]])
        try await night.conclude()
        let undo = try await Night.begin(
            night.store, Night.header("undo", job: "undo run-1"))
        _ = try await night.store.stageUndo(ofRun: "run-1", in: undo.pass, run: undo.run)
        try await undo.apply()
        #expect(try place.listed() == Self.all)
        #expect(try place.there() == place.here())
    }

    /// The row, the ledger's entry and the entitlement are one transaction there.
    @Test func `is written with the row, or neither is`() async throws {
        let place = try Place()
        let store = try place.open()
        _ = try await store.refreshCopy(for: .apply, at: Self.now)
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1", signed: 1_789_000_000_000).ofCopy, drift("2").ofCopy)
        try place.company.execute(
            """
            CREATE TRIGGER no BEFORE UPDATE ON rights WHEN NEW.customer_id = '1'
            BEGIN SELECT RAISE(ABORT, 'not this one'); END
            """)
        try await night.apply()
        #expect(try place.company.states() == ["active", "ended", "active"])
        #expect(
            try place.listed() == [
                Self.all[0], "2: gold until 5000", Self.all[2],
            ])
        #expect(try place.there() == place.here())
        #expect(try place.company.rows("SELECT count(*) FROM trueup_corrections") == [["1"]])
        #expect(
            try await night.conclude().fates().sorted { "\($0)" < "\($1)" } == [
                .applied, .rejected,
            ])
        let remark = try #require(store.companyRemarks.first)
        #expect(remark.contains("not this one") && remark.contains("rights"), "\(remark)")
    }

    @Test func `is put right where it was changed, emptied or restored`() async throws {
        let place = try Place()
        let night = try await corrected(place)
        try await night.conclude()
        let before = try place.there()
        try place.company.execute(
            """
            UPDATE rights SET expires_date = NULL WHERE customer_id = '1';
            UPDATE rights SET will_renew = 1, signed_date = 7 WHERE customer_id = '2';
            DELETE FROM rights WHERE customer_id = '3';
            INSERT INTO rights SELECT bundle_id, environment, '9', entitlement, NULL, NULL, '9',
                product_id, 1, 1, '' FROM rights WHERE customer_id = '1';
            """)
        _ = try await night.store.refreshCopy(for: .apply, at: Self.now)
        #expect(try place.there() == before)
        try place.company.execute("DELETE FROM rights")
        _ = try await night.store.refreshCopy(for: .apply, at: Self.now)
        #expect(try place.there() == before)
    }

    /// To the database they are two customers, and Swift takes their texts for equal.
    @Test func `holds both of two customers whose ids differ in their Unicode form alone`()
        async throws
    {
        let place = try Place()
        let night = try await corrected(place)
        try await night.conclude()
        for (id, customer) in [("91", "caf\u{e9}"), ("92", "cafe\u{301}")] {
            try place.database.execute(
                """
                INSERT INTO trueup_entitlements SELECT bundle_id, environment, '\(customer)',
                    entitlement, expires_date, grace_period_expires_date, '\(id)', product_id,
                    will_renew, signed_date, ownership, changed_in
                FROM trueup_entitlements WHERE customer_id = '1'
                """)
        }
        _ = try await night.store.refreshCopy(for: .apply, at: Self.now)
        #expect(try place.there() == place.here())
        try place.company.execute("DELETE FROM rights WHERE original_transaction_id = '91'")
        _ = try await night.store.refreshCopy(for: .apply, at: Self.now)
        #expect(try place.there() == place.here())
        var listed: [String] = []
        try night.store.forEachEntitlement(
            matching: EntitlementFilter(), in: place.company.link().database
        ) { listed.append($0.originalTransactionID) }
        #expect(listed.suffix(2).sorted() == ["91", "92"])
    }

    /// Rows of other apps may be another worker's.
    @Test func `keeps rows of apps that the run does not read`() async throws {
        let place = try Place()
        try place.company.execute(
            """
            INSERT INTO rights VALUES
                ('com.example.other', 'Production', '1', 'gold', 5, NULL, '1', 'gold', 0, 1, ''),
                ('com.example.app', 'Production', '8', 'gold', 5, NULL, '1', 'gold', 0, 1, '')
            """)
        let store = try place.open()
        _ = try await store.refreshCopy(for: .apply, at: Self.now, of: [app])
        #expect(try place.listed().filter { !$0.hasSuffix(" 5") } == Self.all)
        #expect(
            try place.company.rows(
                "SELECT customer_id FROM rights WHERE bundle_id = 'com.example.other'") == [["1"]])
        #expect(try place.company.rows("SELECT 1 FROM rights WHERE customer_id = '8'").isEmpty)
    }

    @Test func `a row stays after its end, and follows a new catalogue`() async throws {
        let place = try Place()
        let night = try await corrected(place)
        try await night.conclude()
        try night.store.close()
        let store = try place.open(
            ProductCatalogue(products: ["gold": CatalogueProduct(grants: ["pro"])]))
        _ = try await store.refreshCopy(for: .apply, at: Self.now)
        #expect(try place.there() == place.here())
        #expect(Set(try place.there().map { $0[3] }) == ["gold", "pro"])
        try place.company.execute("DELETE FROM subs WHERE otid = '1'")
        _ = try await store.refreshCopy(for: .apply, at: Self.now)
        #expect(try place.there() == place.here())
        #expect(try place.there().filter { $0[2] == "1" }.count == 2)
    }

    @Test func `lets go of a customer who is erased`() async throws {
        let place = try Place()
        let store = try place.open()
        _ = try await store.refreshCopy(for: .apply, at: Self.now)
        try place.company.execute("DELETE FROM subs WHERE otid = '1'")
        _ = try await store.refreshCopy(for: .check, at: Self.now)
        _ = try await store.eraseEvidence(ofCustomer: "1", at: Self.now)
        try await store.eraseCompanyEntitlements(ofCustomer: "1", in: [app])
        #expect(try place.listed() == Array(Self.all.dropFirst()))
        #expect(try place.there() == place.here())
    }

    @Test func `refuses a row without ending the run, and writes the others`() async throws {
        let place = try Place()
        try place.company.execute(
            """
            CREATE TRIGGER no BEFORE INSERT ON rights WHEN NEW.customer_id = '2'
            BEGIN SELECT RAISE(ABORT, 'no such customer'); END
            """)
        let store = try place.open()
        _ = try await store.refreshCopy(for: .apply, at: Self.now)
        #expect(try place.listed() == [Self.all[0], Self.all[2]])
        #expect(
            store.companyRemarks == [
                "Your database refused 1 entitlement, and its table is not as it should be: the table "
                    + "rights of entitlements: no such customer."
            ])
        try place.company.execute("DROP TRIGGER no")
        _ = try await store.refreshCopy(for: .apply, at: Self.now)
        #expect(try place.listed() == Self.all)
    }

    @Test func `a trigger that changes what is written is a refusal`() async throws {
        let place = try Place()
        try place.company.execute(
            """
            CREATE TRIGGER longer AFTER INSERT ON rights
            BEGIN UPDATE rights SET expires_date = expires_date + 1
                WHERE customer_id = NEW.customer_id; END
            """)
        let store = try place.open()
        _ = try await store.refreshCopy(for: .apply, at: Self.now)
        #expect(try place.there().isEmpty)
        #expect(store.companyRemarks.contains { $0.contains("not as it was written") })
    }

    @Test func `is listed as services read it`() async throws {
        let place = try Place()
        let store = try place.open()
        _ = try await store.refreshCopy(for: .apply, at: Self.now)
        try place.company.execute("UPDATE rights SET expires_date = 6 WHERE customer_id = '2'")
        try place.company.execute("DELETE FROM rights WHERE customer_id = '3'")
        var found: [String] = []
        try store.forEachEntitlement(
            matching: EntitlementFilter(), in: place.company.link().database
        ) {
            found.append("\($0.key.customerID) \($0.expiresDate?.unixMilliseconds ?? 0)")
        }
        #expect(found == ["1 \(Self.end)", "2 6"])
        var active = EntitlementFilter()
        active.activeAt = Timestamp(unixMilliseconds: 7)
        found = []
        try store.forEachEntitlement(matching: active, in: place.company.link().database) {
            found.append($0.key.customerID)
        }
        #expect(found == ["1"])
    }

    @Test(arguments: [
        (nil, "has no table rights"),
        (table.replacing("entitlement TEXT NOT NULL,", with: ""), "has no column entitlement"),
        (table.replacing("expires_date INTEGER, g", with: "expires_date TEXT, g"), "of type text"),
        (
            table.replacing("PRIMARY KEY (bundle_id, e", with: "UNIQUE (product_id, e"),
            "no primary key"
        ),
        (table.replacing("will_renew INTEGER", with: "will_renew INTEGER NOT NULL"), "allow NULL"),
        (table.replacing("note TEXT DEFAULT", with: "note TEXT NOT NULL, n2 TEXT DEFAULT"), "note"),
        ("CREATE VIEW rights AS SELECT 1 AS bundle_id", "is a view"),
    ])
    func `that cannot be kept ends with 78 and the statement that makes it`(
        table: String?, problem: String
    ) async throws {
        let place = try Place(
            table: table?.replacing(
                "PRIMARY KEY (bundle_id, environment, customer_id, entitlement)",
                with: (table?.contains("entitlement TEXT") ?? true)
                    ? "PRIMARY KEY (bundle_id, environment, customer_id, entitlement)"
                    : "PRIMARY KEY (bundle_id, environment, customer_id)"))
        for mode in [RunMode.check, .apply] {
            await #expect {
                try await place.open().refreshCopy(for: mode, at: Self.now)
            } throws: { error in
                let words = "\(error)"
                #expect(words.contains(problem), "\(words)")
                guard case StoreError.schema = error else { return false }
                return words.contains(#"CREATE TABLE "rights" (bundle_id TEXT NOT NULL"#)
                    && words.contains("Nothing was read or written.")
            }
        }
    }

    /// The statement that messages print makes a table that is kept.
    @Test func `is made by the statement that messages print`() async throws {
        let statements = EntitlementStatements(CompanyTableName(name: "rights"), for: .sqlite)
        let place = try Place(table: statements.definition)
        let store = try place.open()
        _ = try await store.refreshCopy(for: .apply, at: Self.now)
        #expect(try place.listed() == Self.all)
    }
}
