import SubscriptionStore
import Subscriptions
import TestSupport
import Testing

@Suite struct `A reading of a company's table` {
    private let now = Timestamp(unixMilliseconds: Night.start)

    /// Six rows, of two apps in turn.
    private func place() throws -> (TemporaryDatabase, CompanyFile) {
        let database = try TemporaryDatabase()
        var company = try CompanyFile(beside: database, ids: (1...6).map(String.init))
        try company.execute(
            """
            ALTER TABLE subs ADD COLUMN app TEXT;
            UPDATE subs SET app = CASE user_id % 2 WHEN 1 THEN 'com.example.app' ELSE 'other' END;
            """)
        company.mapping.columns[.bundleID] = .column("app", .text)
        return (database, company)
    }

    private let mine: Set = [AppIdentity(bundleID: "com.example.app", environment: .production)]

    @Test func `is of the apps that a run is for`() async throws {
        let (database, company) = try place()
        defer { withExtendedLifetime(database) {} }
        let store = try company.open(database)
        let first = try #require(try await store.refreshCopy(for: .apply, at: now, of: mine).first)
        #expect(first.rows == 3 && first.inserted == 3)
        _ = try await store.refreshCopy(for: .apply, at: now)
        #expect(try store.subscriptions().count == 6)
        try company.execute("DELETE FROM subs WHERE otid IN ('1', '2')")
        let second = try #require(try await store.refreshCopy(for: .apply, at: now, of: mine).first)
        // What is gone of another app is seen when that one is read.
        #expect(second.rows == 2 && second.deleted == 1)
        #expect(try store.subscriptions().count == 5)
        #expect(try store.copyState()?.rows == 5)
        let all = try #require(try await store.refreshCopy(for: .apply, at: now).first)
        #expect(all.deleted == 1)
    }

    @Test func `knows the rows of other apps where an insert would double one`() async throws {
        let (database, company) = try place()
        defer { withExtendedLifetime(database) {} }
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now, of: mine)
        // 1 is one of ours, 2 and 4 are of the other app, 9 stands nowhere.
        let others = try await store.keysOfUnreadApps(holding: ["1", "2", "4", "9"])
        #expect(others.map(\.originalTransactionID) == ["2", "4"])
        #expect(others.allSatisfy { $0.bundleID == "other" })
        // Where every row was read, the rows at hand say it.
        _ = try await store.refreshCopy(for: .apply, at: now)
        #expect(try await store.keysOfUnreadApps(holding: ["2"]).isEmpty)
    }

    @Test func `that is stopped keeps what it read, and deletes nothing`() async throws {
        let database = try TemporaryDatabase()
        defer { withExtendedLifetime(database) {} }
        // More than a page of 1000.
        let company = try CompanyFile(beside: database, ids: [])
        try company.execute(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
            INSERT INTO subs (user_id, otid, product, state)
            SELECT i, 100000 + i, 'gold', 'active' FROM n
            """)
        let store = try company.open(database)
        let first = try #require(
            try await store.refreshCopy(for: .apply, at: now, whileAllowed: { _, _ in false }).first
        )
        #expect(!first.isWhole && first.rows == 1000)
        #expect(try store.copyState()?.refreshedAt == nil)
        var told: [Int64] = []
        let second = try #require(
            try await store.refreshCopy(
                for: .apply, at: now,
                whileAllowed: { rows, expected in
                    told.append(rows)
                    #expect(expected == 1000)
                    return true
                }
            ).first)
        #expect(second.isWhole && second.rows == 2500 && second.inserted == 1500)
        #expect(told == [1000, 2000, 2500])
        try company.execute("DELETE FROM subs WHERE otid = '100001'")
        let third = try #require(
            try await store.refreshCopy(for: .apply, at: now, whileAllowed: { _, _ in false }).first
        )
        #expect(!third.isWhole && third.deleted == 0)
        #expect(try store.subscriptions().count == 2500)
    }
}
