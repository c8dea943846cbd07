import Foundation
import GRDB
import SubscriptionStore
import Subscriptions
import Testing

/// A database of the schema before control totals, with a run, is brought up to date.
@Suite struct `Older runs` {
    private func olderDatabase() throws -> TemporaryDatabase {
        let database = try TemporaryDatabase(created: false)
        let service = try DatabaseQueue(path: database.path)
        try service.write { db in
            for step in Migration.all where step.number <= 25 { try db.execute(sql: step.sql) }
            try db.execute(sql: "PRAGMA application_id = \(Migration.applicationID)")
            try db.execute(sql: "PRAGMA user_version = 25")
            try db.execute(
                sql: """
                    INSERT INTO subscriptions (original_transaction_id, environment, bundle_id, status)
                    VALUES ('1', 'Production', '\(app.bundleID)', 1)
                    """)
            try db.execute(
                sql: """
                    INSERT INTO trueup_passes (job, mode, settings_digest, narrowing,
                        covers_every_row, began, state)
                    VALUES ('nightly', 'apply', 'digest', '', 1, 5, 'closed')
                    """)
            try db.execute(
                sql: """
                    INSERT INTO trueup_runs (run_id, pass_id, job, mode, started, apps, actor,
                        tool_version, settings_digest, narrowing, covers_every_row,
                        not_found_confirmations, ended, exit_status, statuses, messages, limits,
                        closes_pass, ledger_head)
                    VALUES ('old', 1, 'nightly', 'apply', 5, '', 'ops@host', '0.9', 'digest', '', 1, 3,
                        9, 'ok', 'ok', '', '', 1, '\(LedgerEntry.firstPreviousHash)')
                    """)
        }
        try service.close()
        try database.bringUpToDate()
        return database
    }

    @Test func `keep what they are, and counting begins with the next`() async throws {
        let database = try olderDatabase()
        defer { withExtendedLifetime(database) {} }
        let store = try database.open()
        let old = try store.runRecord(ofRun: "old")
        let before = try old.summary()
        #expect(before.control == nil)
        #expect(before.measures == nil)
        let night = try await Night.begin(store, Night.header("run-1"))
        let summary = try await night.conclude().summary()
        let totals = try #require(summary.control?.apps.first)
        #expect(totals.previous == nil)
        #expect(totals.before == ControlSums(statuses: [1: 1]))
        #expect(totals.after == totals.before)
        #expect(try old.summary() == before)
        var earlier: [EarlierRun] = []
        try store.runRecord(ofRun: "run-1").forEachEarlierRun(
            since: Timestamp(unixMilliseconds: 0)
        ) { earlier.append($0) }
        #expect(earlier.map(\.runID) == ["old"])
        #expect(earlier.first?.measures == nil)
    }
}
