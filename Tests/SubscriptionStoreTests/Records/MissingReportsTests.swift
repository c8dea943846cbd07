import SubscriptionStore
import Subscriptions
import Testing

/// A run that ended, and of which nobody has a report.
@Suite struct `Runs without a report` {
    private let day: Int64 = 86_400_000

    private func begin(_ store: SQLiteStore, _ id: String, _ days: Int64) async throws -> Night {
        try await store.reportIsAwaited(ofRun: id)
        return try await Night.begin(store, Night.header(id, at: Night.start + days * day))
    }

    private func ends(_ store: SQLiteStore) throws -> [String: Subscriptions.ExitStatus?] {
        try store.overview(runs: 9).runs.reduce(into: [:]) { $0[$1.runID] = $1.exitStatus }
    }

    private func lastSuccess(_ store: SQLiteStore) async throws -> Timestamp? {
        try await store.lastSuccess(like: Night.header("run-9", at: Night.start), mayBeEmpty: false)
    }

    @Test func `end with 74 wherever they are shown, and for good`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let record = try await begin(store, "run-1", 0).conclude()
        try await store.reportIsMissing(ofRun: "run-1", because: "the disk is full")
        #expect(try ends(store) == ["run-1": .output])
        let conclusion = try record.summary().conclusion
        #expect(conclusion.exitStatus.code == 74)
        // What it came to besides is not lost.
        #expect(conclusion.statuses == [.output, .ok])
        #expect(conclusion.messages.first?.contains("not written") == true)
        #expect(conclusion.messages.first?.contains("the disk is full") == true)
        #expect(conclusion.messages.last == "done")
        #expect(try await lastSuccess(store) == nil)

        let next = try await begin(store, "run-2", 1).conclude()
        try await store.reportWasPublished(ofRun: "run-2")
        #expect(try ends(store) == ["run-1": .output, "run-2": .ok])
        #expect(try record.summary().conclusion == conclusion)
        var earlier: [Subscriptions.ExitStatus?] = []
        try next.forEachEarlierRun(since: Timestamp(unixMilliseconds: 0)) {
            earlier.append($0.exitStatus)
        }
        #expect(earlier == [.output])
    }

    @Test func `have not ended while the report is awaited, and are found by the next run`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let record = try await begin(store, "run-1", 0).conclude()
        let listed = try #require(try store.overview(runs: 1).runs.first)
        #expect(listed.exitStatus == nil)
        #expect(listed.ended == nil)
        // The report itself is written of a run that came to its end.
        #expect(try record.summary().conclusion.exitStatus == .ok)
        _ = try await begin(store, "run-2", 1)
        #expect(try ends(store)["run-1"] == .output)
        #expect(try record.summary().conclusion.exitStatus == .output)
    }

    @Test func `a published report changes nothing`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        _ = try await begin(store, "run-1", 0).conclude()
        try await store.reportWasPublished(ofRun: "run-1")
        _ = try await begin(store, "run-2", 1)
        #expect(try ends(store)["run-1"] == .ok)
        #expect(try await lastSuccess(store) != nil)
    }
}
