import Foundation
import ServerConnections
import Subscriptions
import TestSupport
import Testing

@Suite struct `The calls of all workers` {
    private let account = QuotaAccount(
        app: AppIdentity(bundleID: "com.example.one", environment: .production),
        endpoint: "subscription_statuses")
    private let now = Timestamp(unixMilliseconds: Int64(Date().timeIntervalSince1970 * 1000))

    private func worker(_ live: WorkerDatabase) throws -> SharedCalls {
        let calls = try live.calls()
        try calls.prepare()
        return calls
    }

    private func counted(_ live: WorkerDatabase) throws -> Int {
        try Int(live.sql("SELECT coalesce(sum(calls), 0) FROM \(live.table("calls"))")) ?? -1
    }

    @Test(arguments: WorkerPlace.here)
    func `of one app and endpoint fit into one hour`(place: WorkerPlace) throws {
        let live = try place.database()
        let first = try worker(live)
        let second = try worker(live)
        #expect(
            try first.book(60, of: account, limit: 100, givingBack: nil, at: now).calls == 60)
        let rest = try second.book(60, of: account, limit: 100, givingBack: nil, at: now)
        #expect(rest.calls == 40)
        #expect(rest.usedOfHour == 100)
        #expect(try first.booked(of: account) == 100)
        let none = try first.book(1, of: account, limit: 100, givingBack: nil, at: now)
        #expect(none.calls == 0)
        let wait = try #require(none.nextFree).milliseconds(since: now)
        #expect(wait > 3_600_000 && wait < 3_700_000)
        // Another endpoint and another app have hours of their own.
        var other = account
        other.endpoint = "transaction_info"
        #expect(
            try first.book(1, of: other, limit: 100, givingBack: nil, at: now).calls == 1)
        other = account
        other.app = AppIdentity(bundleID: "com.example.one", environment: .sandbox)
        #expect(
            try first.book(1, of: other, limit: 100, givingBack: nil, at: now).calls == 1)
    }

    @Test(arguments: WorkerPlace.here)
    func `are given back by whoever booked them, and else count`(place: WorkerPlace) throws {
        let live = try place.database()
        let first = try worker(live)
        var grant = try first.book(60, of: account, limit: 100, givingBack: nil, at: now)
        grant.calls = 20
        let next = try first.book(10, of: account, limit: 100, givingBack: grant, at: now)
        #expect(next.usedOfHour == 50)
        try first.giveBack(next, of: account)
        #expect(try counted(live) == 40)
        // A worker that was killed has no object that could give anything back.
        let second = try worker(live)
        try second.giveBack(next, of: account)
        #expect(try counted(live) == 40)
        var stale = try second.book(5, of: account, limit: 100, givingBack: nil, at: now)
        stale.bucket -= 5
        try second.giveBack(stale, of: account)
        #expect(try counted(live) == 45)
    }

    @Test(arguments: WorkerPlace.here, [-7_200_000, -20_000, 20_000, 7_200_000] as [Int64])
    func `count by the server's clock, whatever the worker's says`(
        place: WorkerPlace, skew: Int64
    ) throws {
        let live = try place.database()
        let late = try worker(live)
        let clock = now.adding(milliseconds: skew)
        let grant = try late.book(60, of: account, limit: 100, givingBack: nil, at: clock)
        #expect(grant.bucket == QuotaWindow.bucket(of: clock))
        #expect(
            try worker(live).book(60, of: account, limit: 100, givingBack: nil, at: now).calls
                == 40)
        try late.giveBack(grant, of: account)
        #expect(try counted(live) == 40)
    }

    @Test(arguments: WorkerPlace.here)
    func `of an earlier hour are forgotten, and of a clock that was wrong are not`(
        place: WorkerPlace
    ) throws {
        let live = try place.database()
        let calls = try worker(live)
        let seconds = now.unixMilliseconds / 1000
        for (second, number) in [(seconds - 4000, 50), (seconds + 8000, 30)] {
            try live.sql(
                """
                INSERT INTO \(live.table("calls")) VALUES ('\(account.app.bundleID)',
                    '\(account.app.environment.rawValue)', '\(account.endpoint)', \(second), \(number))
                """)
        }
        let grant = try calls.book(100, of: account, limit: 100, givingBack: nil, at: now)
        #expect(grant.calls == 70)
        #expect(try counted(live) == 100)
    }

    @Test(arguments: WorkerPlace.here)
    func `are never booked beyond the limit by workers at once`(place: WorkerPlace) async throws {
        let live = try place.database()
        try worker(live).prepare()
        let workers = try (0..<6).map { _ in try worker(live) }
        let granted = try await withThrowingTaskGroup(of: Int.self) { group in
            for worker in workers {
                group.addTask { [account, now] in
                    var sum = 0
                    for _ in 0..<20 {
                        sum += try worker.book(
                            7, of: account, limit: 300, givingBack: nil, at: now
                        ).calls
                    }
                    return sum
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(granted == 300)
    }

    private struct Books: RefusalBooks {
        let calls: SharedCalls

        func book(
            _ wanted: Int, of account: QuotaAccount, limit: Int,
            givingBack unused: QuotaGrant?, at now: Timestamp
        ) async throws -> QuotaGrant {
            try calls.book(wanted, of: account, limit: limit, givingBack: unused, at: now)
        }

        func keep(
            _ refusal: QuotaRefusal, of account: QuotaAccount, at now: Timestamp
        ) async throws {
            try calls.keep(refusal, of: account, at: now)
        }
    }

    @Test(arguments: WorkerPlace.here)
    func `are stopped by a 429 to one of them, as the books promise`(place: WorkerPlace)
        async throws
    {
        let live = try place.database()
        let promises = KeptRefusals(
            told: Books(calls: try worker(live)), other: Books(calls: try worker(live)))
        #expect(try await promises.brokenPromises(at: now) == [])
    }

    @Test(arguments: WorkerPlace.here, [-7_200_000, 7_200_000] as [Int64])
    func `are stopped by the server's clock, whatever the worker's says`(
        place: WorkerPlace, skew: Int64
    ) throws {
        let live = try place.database()
        let clock = now.adding(milliseconds: skew)
        try worker(live).keep(
            QuotaRefusal(resumesAt: clock.adding(milliseconds: 60_000), rateShare: 0.5),
            of: account, at: clock)
        let none = try worker(live).book(
            1, of: account, limit: 100, givingBack: nil, at: now)
        #expect(none.calls == 0)
        let wait = try #require(none.refusal).resumesAt.milliseconds(since: now)
        #expect(wait > 50_000 && wait <= 60_000)
    }

    @Test(arguments: WorkerPlace.here)
    func `are not shared by a user who may only look`(place: WorkerPlace) throws {
        let live = try place.database()
        let reader = try live.calls(mayOnlyRead: true)
        #expect(try !reader.mayBeUsed())
        #expect(try !live.hasOurTables)
        let writer = try worker(live)
        #expect(try !reader.mayBeUsed())
        #expect(try writer.mayBeUsed())
    }
}
