import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `A company's schema` {
    private let now = Timestamp(unixMilliseconds: Night.start)

    @Test(arguments: [
        ("ALTER TABLE subs RENAME COLUMN state TO status", "`state`"),
        ("ALTER TABLE subs RENAME TO other", "`subs`"),
        (
            """
            ALTER TABLE subs RENAME COLUMN expires_at TO old;
            ALTER TABLE subs ADD COLUMN expires_at INTEGER
            """, "`expires_at`"
        ),
        (
            """
            ALTER TABLE subs RENAME COLUMN state TO old;
            ALTER TABLE subs ADD COLUMN state NUMERIC(2)
            """, "`state`"
        ),
        (
            """
            ALTER TABLE subs RENAME COLUMN state TO old;
            ALTER TABLE subs ADD COLUMN state;
            UPDATE subs SET state = 1
            """, "`state`"
        ),
        (
            """
            ALTER TABLE subs RENAME COLUMN otid TO old;
            ALTER TABLE subs ADD COLUMN otid;
            UPDATE subs SET otid = CAST(old AS INTEGER)
            """, "`otid`"
        ),
    ])
    func `that changed overnight ends with 78 and names the column`(
        change: String, named: String
    ) async throws {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now)
        for statement in change.split(separator: ";") { try company.execute(String(statement)) }
        let again = try company.open(database)
        let error = await #expect(throws: StoreError.self) {
            try await again.refreshCopy(for: .apply, at: now)
        }
        #expect(error?.exitStatus == .config)
        #expect(error?.description.contains(named) == true)
        #expect(try again.subscriptions().count == 3)
    }

    @Test func `is described with types, keys and indexes`() throws {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        try company.execute("CREATE VIEW shown AS SELECT otid FROM subs")
        let tables = try SQLiteCompanySchema(path: company.path).tables()
        #expect(tables.map(\.name.name) == ["shown", "subs"])
        #expect(tables.map(\.isView) == [true, false])
        let subs = try #require(tables.last)
        #expect(subs.primaryKey == ["id"])
        #expect(subs.column("user_id")?.type == "integer")
        #expect(subs.isWalkable(by: ["otid"]))
        #expect(!subs.isWalkable(by: ["product"]))
    }

    /// A company's file has more than the one table that is mapped.
    @Test func `may have a view beside the table that nothing can read`() async throws {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        try company.execute("CREATE TABLE gone (a)")
        try company.execute("CREATE VIEW broken AS SELECT a FROM gone")
        try company.execute("DROP TABLE gone")
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now)
        #expect(try store.subscriptions().count == 3)
        let tables = try SQLiteCompanySchema(path: company.path).tables()
        #expect(tables.map(\.name.name) == ["subs"])
    }

    @Test func `of a check gets no ledger`() async throws {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        _ = try await company.open(database).refreshCopy(for: .check, at: now)
        #expect(
            try company.rows("SELECT name FROM sqlite_master WHERE type = 'table'") == [["subs"]])
    }
}
