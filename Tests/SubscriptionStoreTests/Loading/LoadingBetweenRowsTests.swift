import SubscriptionStore
import Subscriptions
import Testing

/// Lines that meet no row are inserted by the part; where rows stand between them, line by line.
@Suite struct `Loading between rows` {
    private static let columns: Set<SubscriptionField> = [.status, .signedDate]

    private static func id(_ number: Int) -> String { String(10_000 + number) }

    @Test func `loads the same whether rows stand between the lines or not`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        // In the third of six parts.
        try store.load([
            subscription(Self.id(1200), status: 1, signed: 5000),
            subscription(Self.id(1300), status: 1, signed: 1000),
        ])
        let lines = (0..<2750).map { subscription(Self.id($0), status: 2, signed: 2000) }
        let counts = try store.load(lines, columns: Self.columns)
        #expect(counts.inserted == 2748)
        #expect(counts.updated == 1)
        #expect(counts.skippedAsOlder == 1)
        #expect(counts.unchanged == 0)
        let rows = try store.subscriptions()
        #expect(rows.map(\.key.originalTransactionID) == (0..<2750).map(Self.id))
        #expect(rows[1200].status == 1)
        #expect(rows[1300].status == 2)
        #expect(rows.count { $0.rowVersion == 1 } == 2749)
        // The same once more changes nothing.
        #expect(try store.load(lines, columns: Self.columns).unchanged == 2749)
    }

    @Test func `keeps the version of a row that was deleted`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("5", status: 1), subscription("6", status: 1)])
        try store.load([subscription("5", status: 2)])
        try database.execute("DELETE FROM subscriptions")
        try store.load(
            [subscription("4", status: 1), subscription("5", status: 1)], columns: Self.columns)
        #expect(try store.subscriptions().map(\.rowVersion) == [1, 3])
    }
}
