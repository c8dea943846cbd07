import SubscriptionStore
import Subscriptions
import Testing

/// A worker's run for its apps is complete for these, and says nothing of others.
@Suite struct `Runs for some apps alone` {
    private static let other = AppIdentity(bundleID: "com.example.other", environment: .production)

    private func header(_ id: String, _ words: [String]? = nil) -> RunHeader {
        var header = Night.header(id)
        header.filters = words ?? ["app \(app.name)"]
        return header
    }

    private func foreign(_ id: String) -> LocalSubscription {
        var row = LocalSubscription(
            key: SubscriptionKey(app: Self.other, originalTransactionID: id))
        row.status = 1
        return row
    }

    @Test func `complete a pass over their apps`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), foreign("9")])
        let night = try await Night.begin(store, header("run-1"))
        try await night.stage(outcome("1", .match))
        try await night.conclude()
        let overview = try store.overview(runs: 5)
        #expect(overview.lastCompletePass == nil)
        #expect(overview.completePasses == [app: night.run.started])
    }

    @Test func `complete none over an app that Apple refused`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), foreign("9")])
        func run(_ id: String, at start: Int64, refused: Set<AppIdentity>) async throws {
            var header = Night.header(id, at: start)
            header.apps = [app, Self.other]
            let night = try await Night.begin(store, header)
            var conclusion = RunConclusion(
                ended: header.started.adding(milliseconds: 1000),
                statuses: refused.isEmpty ? [.ok] : [.denied], messages: [], limits: [],
                calls: [], closesPass: true)
            conclusion.refusedApps = refused
            try await store.conclude(conclusion, in: night.pass, run: header)
        }
        let (first, second) = (Night.start, Night.start + 24 * 3_600_000)
        try await run("run-1", at: first, refused: [])
        try await run("run-2", at: second, refused: [Self.other])
        let overview = try store.overview(runs: 5)
        #expect(overview.lastCompletePass == Timestamp(unixMilliseconds: first))
        #expect(
            overview.completePasses == [
                app: Timestamp(unixMilliseconds: second),
                Self.other: Timestamp(unixMilliseconds: first),
            ])
    }

    @Test func `complete none where they leave out more`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let night = try await Night.begin(store, header("run-1", ["app \(app.name)", "limit 1"]))
        try await night.stage(outcome("1", .match))
        try await night.conclude()
        #expect(try store.overview(runs: 5).completePasses.isEmpty)
    }

    @Test func `have a last success of their own, or that of all apps`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let night = try await Night.begin(store, header("run-1"))
        try await night.stage(outcome("1", .match))
        try await night.conclude()
        let ended = night.run.started.adding(milliseconds: 1000)
        #expect(try await store.lastSuccess(like: header("x"), mayBeEmpty: false) == ended)
        let others = header("x", ["app \(Self.other.name)"])
        #expect(try await store.lastSuccess(like: others, mayBeEmpty: false) == nil)
        #expect(try await store.lastSuccess(like: header("x", []), mayBeEmpty: false) == nil)
        let whole = try await Night.begin(store, header("run-2", []))
        try await whole.stage(outcome("1", .match))
        try await whole.conclude()
        #expect(try await store.lastSuccess(like: others, mayBeEmpty: false) == ended)
    }

    @Test func `miss the rows of their apps that they did not reach, and no other`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("2"), foreign("9")])
        let night = try await Night.begin(store, header("run-1"))
        try await night.stage(outcome("1", .match))
        #expect(try await store.unreachedRows(in: night.pass, run: night.run) == 1)
        let record = try await night.conclude(closes: false, status: .incomplete)
        let totals = try record.summary().totals
        #expect(totals.undecided == [.deadline: 1])
        #expect(totals.inScope == 2)
    }

    @Test func `owe and rest on what is of their apps`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), foreign("9")])
        let night = try await Night.begin(store, header("run-1"))
        try await night.stage(outcome("1", .undecided(.unavailable)))
        try await night.conclude()
        let mine = try await store.pendingAndOldestCheck(of: [app])
        #expect(mine.pending == 1)
        let theirs = try await store.pendingAndOldestCheck(of: [Self.other])
        #expect(theirs.pending == 0 && theirs.oldestCheck == nil)
    }
}
