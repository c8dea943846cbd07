import Crypto
import Foundation
import GRDB
import SubscriptionStore
import Subscriptions
import Testing

/// A database of the schema before plans, with entries, is brought up to date.
@Suite struct `Older ledgers` {
    /// Entries as version 5 wrote them: without host, action, plan and row version.
    private func olderDatabase() throws -> (TemporaryDatabase, [LedgerEntry]) {
        let database = try TemporaryDatabase(created: false)
        let service = try DatabaseQueue(path: database.path)
        var entries: [LedgerEntry] = []
        try service.write { db in
            for step in Migration.all where step.number <= 5 { try db.execute(sql: step.sql) }
            try db.execute(sql: "PRAGMA application_id = \(Migration.applicationID)")
            try db.execute(sql: "PRAGMA user_version = 5")
            for id in ["1", "2", "3"] {
                let correction = drift(id).corrections[0]
                var entry = LedgerEntry(
                    number: Int64(entries.count) + 1,
                    previousHash: entries.last?.hash ?? LedgerEntry.firstPreviousHash,
                    runID: "old", correction: correction,
                    writtenAt: Timestamp(unixMilliseconds: 7), actor: "ops@host")
                let text = entry.previousHash + entry.canonicalWithoutHash.rendered
                entry.hash = payloadDigest(of: text).hexadecimal
                entries.append(entry)
                try db.execute(
                    sql: """
                        INSERT INTO trueup_ledger VALUES (?, ?, ?, 'old', 'access_unpaid',
                            'subscriptions', ?, ?, ?, NULL,
                            't11:signed_datem1000;m5000;t6:statusi1;i2;', ?, ?, 5000, 7,
                            'ops@host', 'Apple says otherwise.', NULL, ?)
                        """,
                    arguments: [
                        entry.number, entry.previousHash, entry.hash, app.bundleID, "Production",
                        id, correction.evidence.hexadecimal,
                        correction.evidenceRenewal?.hexadecimal, id == "3" ? nil : "old",
                    ])
            }
        }
        try service.close()
        try database.bringUpToDate()
        return (database, entries)
    }

    @Test func `keeps every entry with a hash that holds, and goes on from it`() async throws {
        let (database, old) = try olderDatabase()
        let store = try database.open()
        try store.load([subscription("4")])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("4"))
        try await night.apply()
        // The third entry was in no report yet.
        let entries = try await night.conclude().entries()
        #expect(entries.map(\.number) == [3, 4])
        #expect(entries[0] == old[2])
        #expect(entries[1].previousHash == old[2].hash)
        for entry in entries {
            let text = entry.previousHash + entry.canonicalWithoutHash.rendered
            #expect(entry.hash == payloadDigest(of: text).hexadecimal)
        }
        #expect(
            try database.rows("SELECT * FROM trueup_reported_ranges ORDER BY first_entry")
                == [["old", "1", "2"], ["run-1", "3", "4"]])
    }

    @Test func `its corrections can be taken back by their values`() async throws {
        let (database, _) = try olderDatabase()
        let store = try database.open()
        try store.load([subscription("1", status: 2, signed: 5000), subscription("2", status: 5)])
        let night = try await Night.begin(store, Night.header("old"))
        try await night.conclude()
        let run = try await Night.begin(store, Night.header("undo", job: "undo old"))
        let counts = try await store.stageUndo(ofRun: "old", in: run.pass, run: run.run)
        #expect(counts.ready == 1)
        #expect(counts.conflicts == 2)
        try await run.apply()
        #expect(try database.rows("SELECT status FROM subscriptions") == [["1"], ["5"]])
    }

    @Test func `a database gets one identity and keeps it`() async throws {
        let (database, _) = try olderDatabase()
        let first = try database.open().databaseIdentity()
        #expect(first.utf8.count == 32)
        try SQLiteStore.create(at: database.path)
        #expect(try database.open().databaseIdentity() == first)
    }
}
