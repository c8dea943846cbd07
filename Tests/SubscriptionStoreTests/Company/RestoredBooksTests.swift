import Foundation
import GRDB
import SubscriptionStore
import Subscriptions
import Testing

/// Books that were put back to the state before a night, whose corrections stand in the company's
/// ledger and in a report.
@Suite struct `Books behind the company's ledger` {
    private let now = Timestamp(unixMilliseconds: Night.start)

    private func copy(_ database: TemporaryDatabase, to path: String) throws {
        let service = try database.service()
        try service.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO '\(path)'") }
        try service.close()
    }

    /// After a night with two corrections; the books are those from before it, and have taken over
    /// what they lack.
    private func putBack() async throws -> (TemporaryDatabase, SQLiteStore, [LedgerEntry]) {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now)
        try store.close()
        let kept = database.folder.appending(path: "kept.sqlite").path
        try copy(database, to: kept)
        let again = try company.open(database)
        let night = try await Night.begin(again, Night.header("run-1"))
        for id in ["1", "2"] { try await night.stage(drift(id).ofCopy) }
        try await night.apply()
        let entries = try await night.conclude().entries()
        try again.close()
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: database.path + suffix)
        }
        try FileManager.default.moveItem(atPath: kept, toPath: database.path)
        let restored = try company.open(database)
        _ = try await restored.refreshCopy(for: .apply, at: now)
        return (database, restored, entries)
    }

    private func payloads(_ id: String) -> [SignedPayload] { drift(id).evidence }

    @Test func `know what they lack of the corrections that they took over`() async throws {
        let (database, store, entries) = try await putBack()
        defer { withExtendedLifetime(database) {} }
        let unreported = try await store.unreportedEntries(after: nil, limit: 100)
        #expect(unreported.map(\.entry) == entries)
        #expect(unreported.map(\.lacking) == ["1", "2"].map { payloads($0).map(\.digest) })
        #expect(
            try await store.unreportedEntries(after: 1, limit: 100).map(\.entry.number) == [2])
    }

    @Test func `do not report again what a report shows`() async throws {
        let (database, store, entries) = try await putBack()
        defer { withExtendedLifetime(database) {} }
        try await store.keep(
            zip(entries, ["1", "2"]).map { entry, id in
                RecoveredEntry(entry: entry, shownBy: "run-1", payloads: payloads(id))
            })
        #expect(try await store.unreportedEntries(after: nil, limit: 100).isEmpty)
        #expect(
            try database.rows("SELECT * FROM trueup_reported_ranges") == [["run-1", "1", "2"]])
        let next = try await Night.begin(store, Night.header("run-2"))
        let record = try await next.conclude()
        #expect(try record.entries().isEmpty)
        #expect(try record.evidence().isEmpty)
    }

    @Test func `take back what a report of before shows, with its evidence`() async throws {
        let (database, store, entries) = try await putBack()
        defer { withExtendedLifetime(database) {} }
        try await store.keep(
            zip(entries, ["1", "2"]).map { entry, id in
                RecoveredEntry(entry: entry, shownBy: "run-1", payloads: payloads(id))
            })
        let undoing = try await Night.begin(store, Night.header("run-2", job: "undo run-1"))
        _ = try await store.stageUndo(ofRun: "run-1", in: undoing.pass, run: undoing.run)
        try await undoing.apply()
        let record = try await undoing.conclude()
        #expect(try Set(record.entries().map(\.undoOf)) == [1, 2])
        #expect(
            try Set(record.evidence().map(\.digest))
                == Set((payloads("1") + payloads("2")).map(\.digest)))
    }

    @Test func `report what no report shows, with tombstones of what is gone`() async throws {
        let (database, store, entries) = try await putBack()
        defer { withExtendedLifetime(database) {} }
        try await store.keep(
            zip(entries, ["1", "2"]).map { entry, id in
                RecoveredEntry(
                    entry: entry, shownBy: nil,
                    tombstones: payloads(id).map {
                        EvidenceTombstone(
                            digest: $0.digest, erasedAt: now, reason: SQLiteStore.lostEvidence)
                    })
            })
        let next = try await Night.begin(store, Night.header("run-2"))
        let record = try await next.conclude()
        #expect(try record.entries() == entries)
        #expect(try record.tombstones().count == 4)
        #expect(try record.tombstones().allSatisfy { $0.reason == "lost" })
    }
}
