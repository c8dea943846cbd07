import SubscriptionStore
import Subscriptions
import TestSupport
import Testing

@Suite struct `Rows of a company's table with one key, or with none` {
    private let now = Timestamp(unixMilliseconds: Night.start)

    /// A table without a unique key, with rows of one id in the given order.
    private func company(
        beside database: TemporaryDatabase, products: [String]
    ) throws -> CompanyFile {
        let company = try CompanyFile(beside: database)
        try company.execute("CREATE TABLE free AS SELECT * FROM subs; DROP TABLE subs")
        try company.execute("ALTER TABLE free RENAME TO subs")
        try company.execute("DELETE FROM subs WHERE otid = '2'")
        for product in products {
            try company.execute(
                """
                INSERT INTO subs (user_id, otid, product, expires_at, state)
                VALUES (2, '2', '\(product)', '2026-09-21 14:13:20+00:00', 'active')
                """)
        }
        return company
    }

    @Test(arguments: [["gold", "silver", "bronze"], ["bronze", "silver", "gold"]])
    func `are judged by the same one, whatever their order`(products: [String]) async throws {
        let database = try TemporaryDatabase()
        let company = try company(beside: database, products: products)
        let store = try company.open(database)
        let refresh = try #require(try await store.refreshCopy(for: .check, at: now).first)
        #expect(refresh.rows == 3 && refresh.doubled == 2)
        #expect(refresh.remarks.contains { $0.contains("the key of another row") })
        #expect(try store.subscriptions().map(\.productID) == ["gold", "silver", "gold"])
    }

    @Test func `are duplicates of each other for as long as there are several`() async throws {
        let database = try TemporaryDatabase()
        let company = try company(beside: database, products: ["gold", "silver"])
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .check, at: now)
        let held = try await store.rows(holding: ["2"])
        #expect(held.map(\.duplicates) == [held.map(\.row.key)])
        #expect(try await store.rows(holding: ["1"]).map(\.duplicates) == [[]])
        try company.execute("DELETE FROM subs WHERE product = 'silver'")
        _ = try await store.refreshCopy(for: .check, at: now)
        #expect(try await store.rows(holding: ["2"]).map(\.duplicates) == [[]])
    }

    @Test func `without a key are counted and said`() async throws {
        let database = try TemporaryDatabase()
        let company = try company(beside: database, products: ["gold"])
        try company.execute("UPDATE subs SET otid = NULL WHERE otid <> '2'")
        let store = try company.open(database)
        let refresh = try #require(try await store.refreshCopy(for: .check, at: now).first)
        #expect(refresh.rows == 1)
        #expect(refresh.keyless == KeylessRows(count: 2, columns: ["otid"]))
        #expect(refresh.remarks.contains { $0.hasPrefix("2 rows of your table have no value") })
        try company.execute(
            "UPDATE subs SET otid = product || rowid WHERE rowid = "
                + "(SELECT min(rowid) FROM subs WHERE otid IS NULL)")
        let one = try #require(try await store.refreshCopy(for: .check, at: now).first)
        #expect(one.remarks.contains { $0.hasPrefix("1 row of your table has no value") })
        try company.execute("UPDATE subs SET otid = product || rowid WHERE otid IS NULL")
        let filled = try #require(try await store.refreshCopy(for: .check, at: now).first)
        #expect(filled.keyless.count == 0 && filled.remarks.isEmpty)
    }

    @Test func `that no server's index could hold are counted and said`() async throws {
        let database = try TemporaryDatabase()
        let company = try company(beside: database, products: ["gold"])
        try company.execute(
            "UPDATE subs SET otid = replace(hex(zeroblob(1500)), '00', '9') || otid WHERE otid <> '2'"
        )
        let store = try company.open(database)
        let refresh = try #require(try await store.refreshCopy(for: .check, at: now).first)
        #expect(refresh.rows == 1 && refresh.overlong == 2)
        let said = refresh.remarks.first { $0.contains("more than 1000 bytes") }
        #expect(said?.hasPrefix("2 rows of your table have original transaction ids") == true)
        #expect(said?.contains("\"999") == true && (said?.utf8.count ?? 0) < 400)
    }

    @Test func `are met together, wherever a page ends`() throws {
        let database = try TemporaryDatabase()
        let company = try company(beside: database, products: ["gold", "silver", "bronze"])
        let table = try SQLiteCompanyDatabase(path: company.path, mapping: company.mapping)
        for limit in 1...6 {
            var met: [String: Int] = [:]
            var cursor: CompanyCursor?
            repeat {
                let page = try table.rows(after: cursor, limit: limit)
                for row in page.rows {
                    #expect(
                        met.updateValue(row.twins, forKey: row.key.originalTransactionID) == nil)
                }
                cursor = page.next
            } while cursor != nil
            #expect(met.keys.sorted() == ["1", "2", "3"])
            #expect(met["2"] == (limit < 3 ? limit - 1 : 2))
        }
    }
}
