import GRDB
import SubscriptionStore
import Subscriptions
import Testing

/// Purchases whose owner is not known, as the report of each run lists them.
@Suite struct `The list of purchases without a known owner` {
    private func row(
        _ id: String, _ customer: String?, token: String?, ownership: String? = "PURCHASED"
    ) -> LocalSubscription {
        var row = subscription(id, status: 1, signed: 1000, customer: customer)
        row.productID = "month"
        row.appAccountToken = token
        row.inAppOwnershipType = ownership
        return row
    }

    /// A row of which Apple signed another token.
    private func changed(_ id: String, from ours: String, to theirs: String) -> RowOutcome {
        var result = outcome(id, .discrepancy)
        let evidence = payload("transaction\(id)")
        var finding = Finding(
            kind: .identity, severity: .critical, row: LocalSubscription(key: key(id)))
        finding.field = "app_account_token"
        finding.localValue = .text(ours)
        finding.appleValue = .text(theirs)
        finding.customerID = "a"
        finding.evidence = evidence.digest
        result.findings = [finding]
        result.evidence = [evidence]
        return result
    }

    private func run(
        _ store: SQLiteStore, _ id: String, _ outcomes: RowOutcome..., narrowing: [String] = []
    ) async throws -> SQLiteRunRecord {
        var header = Night.header(id)
        header.filters = narrowing
        let night = try await Night.begin(store, header)
        for outcome in outcomes { try await night.stage(outcome) }
        return try await night.conclude()
    }

    private func lines(_ record: SQLiteRunRecord) throws -> [String] {
        var lines: [String] = []
        try record.forEachUnowned { purchase in
            let parts: [String?] = [
                purchase.originalTransactionID, purchase.transactionID, purchase.reason.rawValue,
                purchase.customerID, purchase.appleAccountToken, purchase.speaksFor,
                purchase.because?.rawValue,
            ]
            lines.append(parts.map { $0 ?? "-" }.joined(separator: " "))
        }
        return lines
    }

    private func counts(_ record: SQLiteRunRecord) throws -> [String: Int]? {
        try record.summary().measures?.unowned
    }

    @Test func `names what a row lacks and for whom something speaks`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([
            row("1", "a", token: "t1"), row("2", nil, token: "T1"), row("3", "b", token: nil),
            row("4", nil, token: nil), row("5", "b", token: nil, ownership: "FAMILY_SHARED"),
            row("6", "", token: ""),
        ])
        let record = try await run(store, "run-1")
        #expect(
            try lines(record) == [
                "2 - no_customer - - a same_token", "3 - no_token b - - -", "4 - no_token - - - -",
                "6 - no_token  - - -",
            ])
        #expect(
            try counts(record) == ["no_customer": 1, "no_token": 3, "token_changed": 0])
    }

    @Test func `says nothing of an app whose rows have no tokens or no customers`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([row("1", "a", token: nil), row("2", "b", token: nil)])
        let first = try await run(store, "run-1")
        #expect(try lines(first) == [])
        #expect(try counts(first) == ["no_customer": 0, "no_token": 0, "token_changed": 0])
        try database.execute("UPDATE subscriptions SET customer_id = NULL")
        #expect(try lines(await run(store, "run-2")) == [])
    }

    @Test func `lists a changed token as the finding has it, with the holder of Apple's`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([row("1", "a", token: "t1"), row("2", "b", token: "t2")])
        let record = try await run(store, "run-1", changed("1", from: "t1", to: "T2"))
        #expect(try lines(record) == ["1 - token_changed a T2 b same_token"])
        #expect(try counts(record)?["token_changed"] == 1)
    }

    /// More than are read at once: each is listed once.
    @Test func `lists thousands of changed tokens`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let ids = (10_000..<12_345).map(String.init)
        try store.load(ids.map { row($0, "a", token: "t" + $0) })
        let night = try await Night.begin(store, Night.header("run-1"))
        for id in ids { try await night.stage(changed(id, from: "t" + id, to: "T0")) }
        let record = try await night.conclude()
        #expect(try lines(record) == ids.map { $0 + " - token_changed a T0 - -" })
        #expect(try counts(record)?["token_changed"] == ids.count)
    }

    @Test func `lists one-time purchases too`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([row("1", "a", token: "t1")])
        try database.execute(
            """
            INSERT INTO purchases (transaction_id, original_transaction_id, environment, bundle_id,
                customer_id, app_account_token)
            VALUES ('91', '90', '\(app.environment.rawValue)', '\(app.bundleID)', NULL, 't1'),
                ('92', '92', '\(app.environment.rawValue)', '\(app.bundleID)', 'c', 't3')
            """)
        #expect(try lines(await run(store, "run-1")) == ["90 91 no_customer - - a same_token"])
    }

    /// Every report can be rendered again, and an unchanged line is stored once.
    @Test func `is kept for each run as it was`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([row("1", "a", token: "t1"), row("2", nil, token: "t2")])
        let first = try await run(store, "run-1")
        let second = try await run(store, "run-2")
        try database.execute(
            "UPDATE subscriptions SET customer_id = 'b' WHERE original_transaction_id = '2'")
        let third = try await run(store, "run-3")
        let line = ["2 - no_customer - - - -"]
        #expect(try lines(first) == line && lines(second) == line)
        #expect(try lines(third) == [])
        #expect(
            try database.rows("SELECT since_run, until_run FROM trueup_unowned") == [["1", "3"]])
    }

    @Test func `is left to the runs over whole tables`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([row("1", "a", token: "t1"), row("2", nil, token: "t2")])
        let record = try await run(store, "run-1", narrowing: ["ids of a file"])
        #expect(try lines(record) == [])
        #expect(try counts(record) == nil)
    }

    @Test func `forgets a customer who is erased`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([
            row("1", "a", token: "t1"), row("2", nil, token: "t1"), row("3", "b", token: nil),
        ])
        let record = try await run(store, "run-1")
        #expect(try lines(record).count == 2)
        _ = try await store.eraseEvidence(ofCustomer: "a", at: Timestamp(unixMilliseconds: 9000))
        #expect(try lines(record) == ["3 - no_token b - - -"])
    }
}
