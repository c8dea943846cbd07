import GRDB
import Subscriptions
import Testing

@testable import SubscriptionStore

@Suite struct `Reading over the connection that writes` {
    @Test func `takes back what is written all the same`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("2")])
        await #expect(throws: StoreError.self) {
            try await store.read("looking") { db in
                try db.execute(sql: "DELETE FROM subscriptions")
            }
        }
        let rows = try await store.read("counting") { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM subscriptions")
        }
        #expect(rows == 2)
    }

    @Test func `leaves no transaction behind that failed`() async throws {
        struct Failure: Error {}
        let database = try TemporaryDatabase()
        let store = try database.open()
        await #expect(throws: StoreError.self) {
            try await store.read("looking") { _ in throw Failure() }
        }
        try await store.write("writing") { db in
            try db.execute(sql: "DELETE FROM subscriptions")
        }
    }
}

@Suite struct `The connection of lists` {
    @Test func `is kept beside one that writes, and nested readings get their own`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        var counts: [Int] = []
        for _ in 0..<2 {
            try store.forEachSubscription { _ in
                try store.forEachSubscription { _ in counts.append(1) }
            }
        }
        #expect(counts.count == 2)
        #expect(store.takeIdleReader() != nil)
        #expect(store.takeIdleReader() == nil)
        try store.close()
    }

    @Test func `is not kept where nothing of the file may change`() throws {
        let database = try TemporaryDatabase()
        try database.open().load([subscription("1")])
        let store = try database.open(.readOnly)
        try store.forEachSubscription { _ in }
        #expect(store.takeIdleReader() == nil)
        try store.close()
    }

    @Test func `sees what was written since it was made`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        try store.forEachSubscription { _ in }
        try store.load([subscription("2")])
        var ids: [String] = []
        try store.forEachSubscription { ids.append($0.key.originalTransactionID) }
        #expect(ids == ["1", "2"])
        try store.close()
    }
}
