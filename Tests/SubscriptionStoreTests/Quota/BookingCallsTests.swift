import Foundation
import GRDB
import SubscriptionStore
import Subscriptions
import Testing

struct `Booking calls` {
    private static let start = Timestamp(unixMilliseconds: 1_795_144_624_000)
    private let account = QuotaAccount(app: app, endpoint: "subscription_statuses")

    private func book(
        _ wanted: Int, in store: SQLiteStore, limit: Int = 7, after seconds: Int64 = 0,
        giving unused: QuotaGrant? = nil, of account: QuotaAccount? = nil
    ) async throws -> QuotaGrant {
        let now = Self.start.adding(milliseconds: seconds * 1000)
        return try await store.bookCalls(
            wanted, of: account ?? self.account, limit: limit, givingBack: unused, now: { now })
    }

    @Test func `counts what every process has booked within the hour`() async throws {
        let database = try TemporaryDatabase()
        for number in 0..<7 {
            let store = try database.open()
            #expect(try await book(1, in: store, after: Int64(number) * 60).calls == 1)
            try store.close()
        }
        let store = try database.open()
        let refused = try await book(1, in: store, after: 420)
        #expect(refused.calls == 0)
        let free = try #require(refused.nextFree)
        #expect(free.milliseconds(since: Self.start) == 3_606_000)
        #expect(try await book(5, in: store, after: 3606).calls == 1)
        // The others are still within the hour, and what is older is forgotten.
        #expect(try database.value("SELECT count(*) FROM trueup_quota_calls") == "7")
    }

    @Test func `keeps apps, environments and endpoints apart`() async throws {
        let store = try TemporaryDatabase().open()
        let others = [
            QuotaAccount(app: app, endpoint: "transaction_info"),
            QuotaAccount(
                app: AppIdentity(bundleID: app.bundleID, environment: .sandbox),
                endpoint: account.endpoint),
            QuotaAccount(
                app: AppIdentity(bundleID: "other", environment: app.environment),
                endpoint: account.endpoint),
        ]
        for account in others + [account] {
            #expect(try await book(9, in: store, of: account).calls == 7)
        }
    }

    @Test func `gives back what is not used, and never more`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        var grant = try await book(7, in: store)
        grant.calls = 4
        #expect(try await book(7, in: store, giving: grant).calls == 4)
        grant.calls = 100
        try await store.giveBackCalls(grant, of: account)
        #expect(try database.value("SELECT sum(calls) FROM trueup_quota_calls") == "0")
        grant.bucket = 5
        try await store.giveBackCalls(grant, of: account)
        #expect(try await book(9, in: store, after: 3).calls == 7)
    }

    @Test func `holds for processes that book at the same moment`() async throws {
        let database = try TemporaryDatabase()
        let stores = [try database.open(), try database.open(), try database.open()]
        let granted = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<60 {
                let store = stores[number % 3]
                group.addTask { try await book(3, in: store, limit: 100).calls }
            }
            return try await group.reduce(0, +)
        }
        #expect(granted == 100)
    }

    @Test func `counts for an hour, and no longer, what a clock ahead of time booked`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let year: Int64 = 365 * 24 * 3600
        #expect(try await book(7, in: store, after: year).calls == 7)
        #expect(try await book(1, in: store).calls == 0)
        #expect(try await book(1, in: store, after: 3500).calls == 0)
        #expect(try await book(9, in: store, after: 3700).calls == 7)
        // An hour ahead it counts where it stands.
        #expect(try await book(1, in: store, after: 200).calls == 0)
    }

    @Test func `takes any number that somebody wrote into the table`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        _ = try await book(1, in: store)
        try database.execute("UPDATE trueup_quota_calls SET calls = -3")
        #expect(try await book(9, in: store).calls == 7)
        try database.execute("UPDATE trueup_quota_calls SET calls = 9223372036854775807")
        #expect(try await book(1, in: store).calls == 0)
        try database.execute("UPDATE trueup_quota_calls SET second = 9223372036854775807")
        #expect(try await book(1, in: store).calls == 0)
        try database.execute("UPDATE trueup_quota_calls SET calls = 'many'")
        #expect(try await book(1, in: store).calls == 1)
    }

    @Test func `is looked at by a command that only reads, and changes nothing`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        _ = try await book(3, in: store)
        try store.close()
        let before = try database.files()
        let reader = try database.open(.readOnly)
        #expect(try await reader.noteCall(of: account, limit: 3, at: Self.start).calls == 0)
        #expect(try await reader.noteCall(of: account, limit: 4, at: Self.start).calls == 1)
        #expect(try await reader.refusals(of: app).isEmpty)
        await #expect(throws: StoreError.self) { _ = try await book(1, in: reader) }
        try reader.close()
        #expect(try database.files() == before)
    }

    @Test func `counts what is noted beside the database, which stays as it is`() async throws {
        let database = try TemporaryDatabase()
        CallNotes(besideDatabaseAt: database.path).prepare()
        let store = try database.open()
        #expect(try await book(2, in: store).calls == 2)
        try store.close()
        let before = try database.files()["trueup.sqlite"]
        let reader = try database.open(.readOnly)
        for _ in 0..<3 {
            #expect(try await reader.noteCall(of: account, limit: 7, at: Self.start).calls == 1)
        }
        try reader.close()
        #expect(try database.files()["trueup.sqlite"] == before)
        let next = try database.open()
        #expect(try await book(9, in: next, after: 60).calls == 2)
        #expect(try await next.noteCall(of: account, limit: 7, at: Self.start).calls == 0)
        let other = QuotaAccount(app: app, endpoint: "transaction_info")
        #expect(try await book(9, in: next, of: other).calls == 7)
        // Two booked and three noted calls leave the hour together, two a minute later.
        #expect(try await book(9, in: next, after: 3606).calls == 5)
    }

    @Test func `notes the calls of five seconds in one line, and none where that is impossible`()
        async throws
    {
        let database = try TemporaryDatabase()
        let notes = database.path + "-calls"
        let store = try database.open(.readOnly)
        await #expect(throws: StoreError.self) {
            try await store.noteCall(of: account, limit: 7, at: Self.start, isRequired: true)
        }
        #expect(!FileManager.default.fileExists(atPath: notes))
        CallNotes(besideDatabaseAt: database.path).prepare()
        for _ in 0..<7 {
            let grant = try await store.noteCall(
                of: account, limit: 7, at: Self.start, isRequired: true)
            #expect(grant.calls == 1)
        }
        let eighth = try await store.noteCall(
            of: account, limit: 7, at: Self.start, isRequired: true)
        #expect(eighth.calls == 0)
        let lines = try String(contentsOfFile: notes, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 1)
        #expect(lines.first?.split(separator: " ")[1] == "7")
    }

    @Test func `takes any notes`() async throws {
        let database = try TemporaryDatabase()
        let name = database.path + "-calls"
        let text =
            "\u{0}\n1795144620 x com.example.app Production subscription_statuses\n"
            + "1795144620 -4 com.example.app Production subscription_statuses\n"
            + "1795144620 2 com.example.app Production subscription_statuses\n17951446"
        try Data(text.utf8).write(to: URL(fileURLWithPath: name))
        let store = try database.open()
        #expect(try await book(9, in: store).calls == 5)
    }

    @Test func `forgets notes that are over`() async throws {
        let database = try TemporaryDatabase()
        let notes = CallNotes(besideDatabaseAt: database.path)
        notes.prepare()
        notes.prepare()
        let store = try database.open(.readOnly)
        for hour in 0..<20 {
            let now = Self.start.adding(milliseconds: Int64(hour) * 3_700_000)
            #expect(try await store.noteCall(of: account, limit: 1, at: now).calls == 1)
        }
        let text = try String(contentsOfFile: database.path + "-calls", encoding: .utf8)
        #expect(text.split(separator: "\n").count == 1)
    }

    @Test func `keeps the last refusal of each endpoint`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        for seconds in [10, 20] as [Int64] {
            try await store.keepRefusal(
                QuotaRefusal(
                    resumesAt: Self.start.adding(milliseconds: seconds * 1000), rateShare: 0.25),
                of: account)
        }
        try store.close()
        let kept = try await database.open(.readOnly).refusals(of: app)
        #expect(
            kept == [
                "subscription_statuses": QuotaRefusal(
                    resumesAt: Self.start.adding(milliseconds: 20_000), rateShare: 0.25)
            ])
    }
}
