import Foundation
import GRDB
import SubscriptionStore
import Subscriptions
import Testing

/// What a kill between the two commits leaves, and what a restored database of the company's lacks.
@Suite struct `Two ledgers` {
    private let now = Timestamp(unixMilliseconds: Night.start)

    private func copy(_ database: TemporaryDatabase, to path: String) throws {
        let service = try database.service()
        try service.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO '\(path)'") }
        try service.close()
    }

    /// Both files as they stand after a night, the books as they stood before its corrections.
    private func killedBetweenCommits() async throws -> (
        TemporaryDatabase, CompanyFile, LedgerEntry
    ) {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now)
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1").ofCopy)
        try await store.sealPlan(of: night.pass, run: night.run)
        try store.close()
        let kept = database.folder.appending(path: "kept.sqlite").path
        try copy(database, to: kept)
        let again = try company.open(database)
        let going = Night(store: again, run: night.run, pass: night.pass)
        try await going.apply()
        let entry = try #require(try await going.conclude().entries().first)
        try again.close()
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: database.path + suffix)
        }
        try FileManager.default.moveItem(atPath: kept, toPath: database.path)
        return (database, company, entry)
    }

    @Test func `a killed run's entries are taken over, as they are`() async throws {
        let (database, company, entry) = try await killedBetweenCommits()
        #expect(try database.value("SELECT count(*) FROM trueup_ledger") == "0")
        let store = try company.open(database)
        let refresh = try #require(try await store.refreshCopy(for: .apply, at: now).first)
        #expect(refresh.changed == 0)
        #expect(try database.rows("SELECT entry, hash FROM trueup_ledger") == [["1", entry.hash]])
        #expect(try database.value("SELECT fate FROM trueup_pass_corrections") == "applied")
        #expect(
            try database.rows("SELECT status, row_version FROM subscriptions LIMIT 1")
                == [["2", "2"]])
        _ = try await store.refreshCopy(for: .apply, at: now)
        #expect(try database.value("SELECT count(*) FROM trueup_ledger") == "1")
    }

    @Test func `an entry that was changed there is not taken over`() async throws {
        let (database, company, _) = try await killedBetweenCommits()
        try company.execute(
            "UPDATE trueup_corrections SET content = replace(content, 'Apple', 'Nobody')")
        let store = try company.open(database)
        await #expect(throws: StoreError.self) {
            try await store.refreshCopy(for: .apply, at: now)
        }
        #expect(try database.value("SELECT count(*) FROM trueup_ledger") == "0")
    }

    @Test func `a restored table ends with 78, and nothing is read or written`() async throws {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now)
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1").ofCopy)
        try await night.apply()
        try await night.conclude()
        let books = try SQLiteStore.open(at: database.path, access: .readOnly)
        #expect(try await books.gap(inLedgerOf: company.link()) == nil)
        try company.execute("DELETE FROM trueup_corrections")
        try company.execute("UPDATE subs SET state = 'active'")
        // Whoever only looks is told, too.
        let gap = try await books.gap(inLedgerOf: company.link())
        #expect(gap?.contains("trueup restored") == true)
        let error = await #expect(throws: StoreError.self) {
            try await store.refreshCopy(for: .apply, at: now)
        }
        #expect(error?.exitStatus == .config)
        #expect(error?.description.contains("trueup restored") == true)
        #expect(try store.subscriptions().first?.status == 2)
        #expect(try company.states() == ["active", "active", "active"])
    }

    @Test func `a run is taken back in both`() async throws {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now)
        let before = try company.rows("SELECT * FROM subs ORDER BY otid")
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1").ofCopy)
        try await night.apply()
        try await night.conclude()
        _ = try await store.refreshCopy(for: .apply, at: now)
        let undoing = try await Night.begin(store, Night.header("run-2", job: "undo run-1"))
        _ = try await store.stageUndo(ofRun: "run-1", in: undoing.pass, run: undoing.run)
        try await undoing.apply()
        #expect(try await undoing.conclude().entries().map(\.undoOf) == [1])
        #expect(try company.rows("SELECT * FROM subs ORDER BY otid") == before)
    }
}
