import SubscriptionStore
import Subscriptions
import Testing

/// The promises of the store about the company's rows.
@Suite struct `The contract of the rows` {
    @Test(arguments: BooksPlace.allCases)
    func `pages in key order hold every row once`(store: BooksPlace) async throws {
        let place = try store.place()
        let ids = (0..<25).map { "\(100 + $0 * 7 % 25)" }
        for id in ids { try place.hold(subscription(id)) }
        var met: [String] = []
        var position: SubscriptionKey?
        while met.count < 100 {
            let page = try await place.store.rows(after: position, limit: 4)
            guard let last = page.last else { break }
            met += page.map(\.row.key.originalTransactionID)
            position = last.row.key
        }
        #expect(met == ids.sorted())
    }

    @Test(arguments: BooksPlace.allCases)
    func `a page is short only at the end`(store: BooksPlace) async throws {
        let place = try store.place()
        for id in ["1", "2", "3"] { try place.hold(subscription(id)) }
        #expect(try await place.store.rows(after: nil, limit: 2).count == 2)
        #expect(try await place.store.rows(after: key("2"), limit: 2).count == 1)
        #expect(try await place.store.rows(after: key("3"), limit: 2).isEmpty)
    }

    @Test(arguments: BooksPlace.allCases)
    func `a row comes with its values, periods and duplicates`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        var twin = subscription("1", status: 2)
        twin.key = SubscriptionKey(
            bundleID: app.bundleID, environment: "Sandbox", originalTransactionID: "1")
        try place.hold(subscription("1", customer: "c"))
        try place.hold(twin)
        var period = LocalTransaction(
            key: TransactionKey(
                bundleID: app.bundleID, environment: "Production", transactionID: "11"),
            originalTransactionID: "1")
        period.price = 990
        try place.hold(period)
        let rows = try await place.store.rows(holding: ["1", "9"])
        #expect(rows.map(\.row.key) == [key("1"), twin.key])
        #expect(rows.map(\.row.status) == [1, 2])
        #expect(rows.first?.row.customerID == "c")
        #expect(rows.first?.periods == [period])
        #expect(rows.first?.duplicates == [twin.key])
        #expect(rows.last?.periods.isEmpty == true)
        #expect(rows.last?.duplicates == [key("1")])
    }

    @Test(arguments: BooksPlace.allCases)
    func `the digest of periods tells whether they are the same`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        try place.hold(subscription("1"))
        func digest() async throws -> PeriodsDigest? {
            try await place.store.rows(holding: ["1"]).first?.periodsDigest
        }
        let empty = try #require(try await digest())
        var period = LocalTransaction(
            key: TransactionKey(
                bundleID: app.bundleID, environment: "Production", transactionID: "11"),
            originalTransactionID: "1")
        try place.hold(period)
        let one = try #require(try await digest())
        #expect(one != empty)
        #expect(try await digest() == one)
        period.price = 1
        try place.hold(period)
        #expect(try await digest() != one)
    }

    @Test(arguments: BooksPlace.allCases)
    func `whoever writes to a row raises its version, also across its deletion`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        var versions: [Int64] = []
        for round in 0..<3 {
            try place.hold(subscription("1", status: round))
            if round == 1 { try place.remove(key("1")) }
            if round != 1 {
                let row = try await place.store.rows(holding: ["1"]).first
                versions.append(try #require(row).row.rowVersion)
            }
        }
        #expect(versions == versions.sorted())
        #expect(Set(versions).count == versions.count)
    }

    @Test(arguments: BooksPlace.allCases)
    func `rows are counted by app, configured or not`(store: BooksPlace) async throws {
        let place = try store.place()
        for id in ["1", "2"] { try place.hold(subscription(id)) }
        var stray = subscription("3")
        stray.key = SubscriptionKey(
            bundleID: "com.example.stray", environment: "Production", originalTransactionID: "3")
        try place.hold(stray)
        #expect(
            try await place.store.rowsByApp() == [
                AppRows(bundleID: app.bundleID, environment: "Production", rows: 2),
                AppRows(bundleID: "com.example.stray", environment: "Production", rows: 1),
            ])
    }
}
