import SubscriptionStore
import Subscriptions
import TestSupport
import Testing

/// A company's file that takes a change and does something else.
@Suite struct `A change that does not stand` {
    private let now = Timestamp(unixMilliseconds: Night.start)

    @Test(arguments: [
        "AFTER UPDATE ON subs WHEN NEW.otid = '2' AND NEW.state = 'ended' BEGIN "
            + "UPDATE subs SET state = OLD.state WHERE id = NEW.id; END",
        "BEFORE UPDATE ON subs WHEN NEW.otid = '2' BEGIN SELECT RAISE(IGNORE); END",
        "AFTER UPDATE ON subs WHEN NEW.otid = '2' BEGIN DELETE FROM subs WHERE id = NEW.id; END",
        "AFTER UPDATE ON subs WHEN NEW.otid = '2' BEGIN "
            + "UPDATE subs SET user_id = abs(-9223372036854775808) WHERE id = NEW.id; END",
    ])
    func `is refused, and no entry says that it was written`(trigger: String) async throws {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        try company.execute("CREATE TRIGGER keeps " + trigger)
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now)
        let night = try await Night.begin(store, Night.header("run-1"))
        for id in ["1", "2", "3"] { try await night.stage(drift(id).ofCopy) }
        try await night.apply()
        #expect(try company.states() == ["ended", "active", "ended"])
        #expect(try await night.conclude().fates() == [.applied, .rejected, .applied])
        #expect(try company.rows("SELECT entry FROM trueup_corrections") == [["1"], ["2"]])
        #expect(store.companyRemarks.contains { $0.contains(" of 2,") })
        let refresh = try #require(try await store.refreshCopy(for: .apply, at: now).first)
        #expect(refresh.changed == 0 && refresh.deleted == 0)
    }

    @Test func `is refused for every row where the trigger itself is broken`() async throws {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        try company.execute(
            "CREATE TRIGGER audits AFTER UPDATE ON subs BEGIN INSERT INTO gone VALUES (1); END")
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now)
        let night = try await Night.begin(store, Night.header("run-1"))
        for id in ["1", "2"] { try await night.stage(drift(id).ofCopy) }
        try await night.apply()
        #expect(try await night.conclude().fates() == [.rejected, .rejected])
        #expect(store.companyRemarks.contains { $0.contains("gone") })
    }

    @Test(arguments: ["STORED", "VIRTUAL"])
    func `is known before the run where the table generates the column`(
        kind: String
    ) async throws {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        try company.execute(
            """
            DROP TABLE subs;
            CREATE TABLE subs (user_id INTEGER, otid TEXT PRIMARY KEY, product TEXT,
                expires_at TEXT, raw TEXT, state TEXT GENERATED ALWAYS AS (raw) \(kind))
            """)
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .check, at: now)
        let error = await #expect(throws: StoreError.self) {
            try await store.refreshCopy(for: .apply, at: now)
        }
        #expect(error?.exitStatus == .config)
        #expect(error?.description.contains("\"state\" is generated") == true)
    }

    /// A table with a row for each transaction, the latest of which ends too late.
    private func purchases(_ database: TemporaryDatabase) throws -> CompanyFile {
        var company = try CompanyFile(beside: database)
        try company.execute(
            """
            CREATE TABLE purchases (original_id TEXT, transaction_id TEXT, expires_ms INTEGER);
            INSERT INTO purchases VALUES ('1', '10', 1000), ('1', '90', 9000)
            """)
        company.mapping = TableMapping(
            table: CompanyTableName(name: "purchases"),
            columns: [
                .originalTransactionID: .column("original_id", .text),
                .bundleID: .constant("com.example.app"), .environment: .constant("Production"),
                .latestTransactionID: .column("transaction_id", .text),
                .expiresDate: .column("expires_ms", .milliseconds),
            ], inserts: [:], latestBy: "expires_ms")
        return company
    }

    private func end(
        _ transaction: String, at end: Int64, in company: CompanyFile
    ) throws -> CompanyWriteFate {
        let table = try company.link().database
        try table.check(mayWrite: true)
        try table.begin()
        let fate = try table.write(
            CompanyChange(
                action: .update,
                key: SubscriptionKey(
                    bundleID: "com.example.app", environment: "Production",
                    originalTransactionID: "1"),
                before: [
                    .latestTransactionID: .text("90"),
                    .expiresDate: .time(Timestamp(unixMilliseconds: 9000)),
                ],
                after: [
                    .latestTransactionID: .text(transaction),
                    .expiresDate: .time(Timestamp(unixMilliseconds: end)),
                ]))
        #expect(try table.commit(keeping: []) == .committed)
        return fate
    }

    @Test func `is no row of a transaction that would not be the latest`() throws {
        let database = try TemporaryDatabase()
        defer { withExtendedLifetime(database) {} }
        let company = try purchases(database)
        for (transaction, time) in [("20", 2000), ("20", 9000), ("10", 12_000)] as [(String, Int64)]
        {
            guard case .refused = try end(transaction, at: time, in: company) else {
                Issue.record("\(transaction) was inserted")
                return
            }
        }
        #expect(try company.rows("SELECT count(*) FROM purchases") == [["2"]])
        #expect(try end("20", at: 12_000, in: company) == .applied(version: nil))
        #expect(try company.rows("SELECT count(*) FROM purchases") == [["3"]])
    }
}
