import SubscriptionStore
import Subscriptions
import Testing

/// Values of every storage class in every column of the company's tables.
@Suite struct `Reading columns` {
    static let texts = [
        "app_account_token", "product_id", "auto_renew_product_id", "in_app_ownership_type",
        "latest_transaction_id", "web_order_line_item_id",
    ]
    static let numbers = [
        "status", "auto_renew_status", "expires_date", "grace_period_expires_date",
        "revocation_date", "signed_date",
    ]

    private func row(
        _ column: String, _ value: String
    ) async throws -> StoredSubscription {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1", status: 2)])
        let columns = (SubscriptionField.stored.map(\.rawValue) + ["row_version"])
            .joined(separator: ", ")
        // A service may have rebuilt the table without our column types.
        try database.execute(
            """
            CREATE TABLE copied (\(columns));
            INSERT INTO copied SELECT \(columns) FROM subscriptions;
            DROP TABLE subscriptions;
            ALTER TABLE copied RENAME TO subscriptions;
            UPDATE subscriptions SET \(column) = \(value);
            """)
        let rows = try await store.rows(holding: ["1"])
        return try #require(rows.first)
    }

    @Test(arguments: texts)
    func `a text column`(column: String) async throws {
        let field = try #require(SubscriptionField(rawValue: column))
        #expect(try await row(column, "'abc'").row.value(of: field) == .text("abc"))
        #expect(try await row(column, "'é\u{FFFD}'").row.value(of: field) == .text("é\u{FFFD}"))
        for (value, shown) in [
            ("x'7e3f'", "x'7e3f'"), ("CAST(x'ff41' AS TEXT)", "x'ff41'"),
            ("CAST(x'410042' AS TEXT)", "x'410042'"), ("CAST(x'0041' AS TEXT)", "x'0041'"),
        ] {
            let row = try await row(column, value).row
            #expect(row.unreadable == [field: shown], "\(value)")
        }
        #expect(try await row(column, "CAST(5 AS INTEGER)").row.unreadable.isEmpty == false)
    }

    @Test(arguments: numbers)
    func `a column of numbers or times`(column: String) async throws {
        let field = try #require(SubscriptionField(rawValue: column))
        for value in ["7", "CAST(7.0 AS REAL)"] {
            let row = try await row(column, value).row
            #expect(row.unreadable.isEmpty, "\(value)")
            #expect(row.value(of: field) != .null)
        }
        for value in ["'active'", "1.5", "x'01'", "'2026-01-01T00:00:00Z'", "9e99"] {
            let row = try await row(column, value).row
            #expect(row.unreadable.count == 1 && row.unreadable[field] != nil, "\(value)")
        }
    }

    @Test(arguments: texts + numbers)
    func `empty text is nothing in every column`(column: String) async throws {
        let field = try #require(SubscriptionField(rawValue: column))
        let row = try await row(column, "''").row
        #expect(row.value(of: field) == .null)
        #expect(row.storedValue(of: field) == .text(""))
        #expect(row.unreadable.isEmpty)
    }

    @Test func `what is long is shown short`() async throws {
        let shown = try #require(
            await row("expires_date", "printf('%.5000c', 'x')").row.unreadable[.expiresDate])
        #expect(shown.count < 120)
        #expect(shown.hasSuffix("… (5000 bytes)"))
        let bytes = try #require(
            await row("product_id", "zeroblob(5000)").row.unreadable[.productID])
        #expect(bytes.count < 120)
    }

    @Test func `a customer of any form is shown and stops nothing`() async throws {
        let row = try await row("customer_id", "x'7e3fb20b'").row
        #expect(row.customerID == "7e3fb20b")
        #expect(row.unreadable.isEmpty)
        #expect(try await self.row("customer_id", "''").row.customerID == nil)
    }

    @Test func `a period's columns`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        try database.execute(
            """
            INSERT INTO transactions (transaction_id, original_transaction_id, environment,
                bundle_id, product_id, expires_date, price, currency, is_upgraded)
            VALUES ('10', '1', 'Production', 'com.example.app', x'00', 'soon', 1.5, '', 'yes')
            """)
        let period = try #require(await store.rows(holding: ["1"]).first?.periods.first)
        #expect(
            period.unreadable == [
                .productID: "x'00'", .expiresDate: "soon", .price: "1.5", .isUpgraded: "yes",
            ])
        #expect(period.currency == nil)
    }
}
