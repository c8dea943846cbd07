import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `The ledger beside a company's table` {
    private let now = Timestamp(unixMilliseconds: Night.start)

    private func open(
        _ company: CompanyFile, with database: TemporaryDatabase
    ) throws -> SQLiteStore {
        let identity = try database.open().databaseIdentity()
        let link = CompanyLink(
            try SQLiteCompanyDatabase(
                path: company.path, mapping: company.mapping,
                books: LedgerOwner(identity: identity, path: database.path)),
            mapping: company.mapping)
        return try SQLiteStore.open(at: database.path, access: .readWrite, company: link)
    }

    private func correct(_ id: String, in store: SQLiteStore) async throws {
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift(id).ofCopy)
        #expect(try await night.apply() == 1)
        _ = try await night.conclude()
    }

    @Test(arguments: [RunMode.apply, .check])
    func `is that of the books that wrote first`(mode: RunMode) async throws {
        let (first, second) = (try TemporaryDatabase(), try TemporaryDatabase())
        let company = try CompanyFile(beside: first)
        let store = try open(company, with: first)
        _ = try await store.refreshCopy(for: .apply, at: now)
        try await correct("1", in: store)
        let other = try open(company, with: second)
        await #expect {
            try await other.refreshCopy(for: mode, at: now)
        } throws: { error in
            let error = error as? StoreError
            return error?.exitStatus == .config
                && error?.description.contains(first.path) == true
                && error?.description.contains("trueup restored") == true
        }
        #expect(try other.subscriptions().isEmpty)
        #expect(try company.rows("SELECT entry FROM trueup_corrections") == [["1"]])
        _ = try await store.refreshCopy(for: .apply, at: now)
    }

    @Test func `is nobody's after a check alone`() async throws {
        let (first, second) = (try TemporaryDatabase(), try TemporaryDatabase())
        let company = try CompanyFile(beside: first)
        _ = try await open(company, with: first).refreshCopy(for: .check, at: now)
        _ = try await open(company, with: second).refreshCopy(for: .apply, at: now)
        #expect(
            try company.rows("SELECT path FROM trueup_books") == [[second.path]])
    }

    @Test func `made by an earlier version becomes that of the next books`() async throws {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        _ = try await company.open(database).refreshCopy(for: .apply, at: now)
        _ = try await open(company, with: database).refreshCopy(for: .apply, at: now)
        #expect(try company.rows("SELECT path FROM trueup_books") == [[database.path]])
    }

    @Test func `is taken over, with its entries, by books that are declared to follow`()
        async throws
    {
        let (lost, new) = (try TemporaryDatabase(), try TemporaryDatabase())
        let company = try CompanyFile(beside: lost)
        let before = try open(company, with: lost)
        _ = try await before.refreshCopy(for: .apply, at: now)
        try await correct("1", in: before)
        let store = try open(company, with: new)
        let former = try await store.adoptCompanyLedger(
            reason: "the disk failed", by: "tester", at: now)
        #expect(former == lost.path)
        #expect(
            try await store.adoptCompanyLedger(reason: "again", by: "tester", at: now) == nil)
        _ = try await store.refreshCopy(for: .apply, at: now)
        #expect(try store.subscriptions().map(\.status) == [2, 1, 1])
        #expect(
            try company.rows("SELECT reason, actor FROM trueup_books ORDER BY number")
                == [["NULL", "NULL"], ["the disk failed", "tester"]])
        await #expect(throws: StoreError.self) {
            try await before.refreshCopy(for: .apply, at: now)
        }
    }
}
