import Foundation
import GRDB
import SubscriptionStore
import Subscriptions
import Testing

/// A database that lost what makes writing to it safe is refused before anything of it changes.
@Suite struct `Refusing damage` {
    private func refusal(_ database: TemporaryDatabase) throws -> StoreError? {
        let before = try database.files()
        let result = Result { _ = try database.open() }
        #expect(try database.files() == before)
        guard case .failure(let error) = result else { return nil }
        return error as? StoreError
    }

    private func schemaText(_ error: StoreError?) throws -> String {
        guard case .schema(let text) = error else {
            throw Unexpected(description: "expected .schema, got \(String(describing: error))")
        }
        return text
    }

    private struct Unexpected: Error, CustomStringConvertible {
        let description: String
    }

    /// SQLite's way to change a table, without what belongs to it.
    private static func rebuild(key: String, _ columns: String = "") -> String {
        """
        CREATE TABLE rebuilt (
            original_transaction_id TEXT, environment TEXT, bundle_id TEXT, customer_id TEXT,
            app_account_token TEXT, product_id TEXT \(columns), status INTEGER,
            expires_date INTEGER, grace_period_expires_date INTEGER, auto_renew_status INTEGER,
            auto_renew_product_id TEXT, revocation_date INTEGER, in_app_ownership_type TEXT,
            latest_transaction_id TEXT, web_order_line_item_id TEXT, signed_date INTEGER,
            row_version INTEGER NOT NULL DEFAULT 1, note TEXT DEFAULT 'none', PRIMARY KEY (\(key)));
        INSERT INTO rebuilt SELECT *, 'ours' FROM subscriptions;
        DROP TABLE subscriptions;
        ALTER TABLE rebuilt RENAME TO subscriptions;
        """
    }

    @Test func `names each trigger and index that is gone, and init puts it back`() throws {
        let database = try TemporaryDatabase()
        let parts = try database.rows(
            """
            SELECT type, name FROM sqlite_master
            WHERE type IN ('trigger', 'index') AND sql IS NOT NULL
            """)
        #expect(parts.contains(["trigger", "trueup_raise_row_version"]))
        #expect(parts.contains(["trigger", "trueup_ledger_is_not_changed"]))
        for part in parts {
            try database.execute("DROP \(part[0]) \(part[1])")
            let text = try schemaText(refusal(database))
            #expect(text.contains("\(part[0]) `\(part[1])`"), "\(text)")
            #expect(text.contains("trueup init"))
            #expect(throws: (any Error).self) { try database.open(.readOnly).refuseDamaged() }
            #expect(try SQLiteStore.create(at: database.path).count == 1)
            #expect(throws: Never.self) { _ = try database.open() }
        }
    }

    @Test func `a trigger that was weakened is not the trigger`() throws {
        let database = try TemporaryDatabase()
        try database.execute(
            """
            DROP TRIGGER trueup_ledger_is_not_cut;
            CREATE TRIGGER trueup_ledger_is_not_cut BEFORE DELETE ON trueup_ledger WHEN 0
            BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END;
            """)
        let text = try schemaText(refusal(database))
        #expect(text.contains("trueup_ledger_is_not_cut"))
        #expect(text.contains("verify --database"))
        try SQLiteStore.create(at: database.path)
        #expect(throws: Never.self) { _ = try database.open() }
    }

    @Test func `renaming a table to and fro is no damage`() throws {
        let database = try TemporaryDatabase()
        try database.execute(
            """
            ALTER TABLE subscriptions RENAME TO elsewhere;
            ALTER TABLE elsewhere RENAME TO subscriptions;
            """)
        #expect(throws: Never.self) { _ = try database.open() }
    }

    @Test(arguments: [
        ("original_transaction_id", "", "primary key"),
        (
            "bundle_id, environment, original_transaction_id", "COLLATE NOCASE",
            "collation of `product_id`"
        ),
    ])
    func `another key or collation is named with statements that mend it`(
        key: String, columns: String, word: String
    ) throws {
        let database = try TemporaryDatabase()
        try database.open().load([subscription("1", customer: "c"), subscription("2")])
        try database.execute(Self.rebuild(key: key, columns))
        let text = try schemaText(refusal(database))
        #expect(text.contains(word), "\(text)")
        let statements = try #require(text.range(of: "PRAGMA"))
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        shell.arguments = ["sqlite3", database.path, String(text[statements.lowerBound...])]
        try shell.run()
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 0)
        try SQLiteStore.create(at: database.path)
        let rows = try database.open().subscriptions()
        #expect(rows.map(\.key.originalTransactionID) == ["1", "2"])
        #expect(rows.map(\.customerID) == ["c", nil])
        #expect(try database.value("SELECT count(*) FROM subscriptions WHERE note = 'ours'") == "2")
        #expect(try database.value("SELECT count(*) FROM subscriptions_before") == "2")
    }

    @Test func `a lost table of the bookkeeping asks for a backup`() throws {
        let database = try TemporaryDatabase()
        try database.execute("DROP TABLE trueup_absences")
        let text = try schemaText(refusal(database))
        #expect(text.contains("`trueup_absences`"))
        #expect(text.contains("backup"))
    }

    @Test func `a file of no bytes is not made into a new database`() throws {
        let database = try TemporaryDatabase()
        try Data().write(to: URL(fileURLWithPath: database.path))
        for attempt in [
            { _ = try database.open() }, { _ = try database.open(.readOnly) },
            { _ = try SQLiteStore.create(at: database.path) },
            { try database.bringUpToDate() },
        ] {
            do {
                try attempt()
                Issue.record("an empty file was taken")
            } catch {
                guard case .unavailable(let text) = error as? StoreError else {
                    Issue.record("got \(error)")
                    continue
                }
                #expect(text.contains("0 bytes"))
                #expect(text.contains("backup"))
            }
        }
        let size = try FileManager.default.attributesOfItem(atPath: database.path)[.size]
        #expect(size as? Int == 0)
    }

    private func withEntries() async throws -> TemporaryDatabase {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(["1", "2", "3"].map { subscription($0) })
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1"), drift("2"), drift("3"))
        try await night.apply()
        try await night.conclude()
        try store.close()
        return database
    }

    @Test(arguments: [
        "UPDATE trueup_ledger SET reason = 'x' WHERE entry = 3",
        "UPDATE trueup_ledger SET changes = replace(changes, 'i1;', 'i3;') WHERE entry = 2",
        "DELETE FROM trueup_ledger WHERE entry = 3", "DELETE FROM trueup_ledger WHERE entry = 2",
        "DELETE FROM trueup_ledger", "UPDATE trueup_ledger SET entry = 4 WHERE entry = 3",
    ])
    func `nothing is added to a ledger whose end does not hold`(change: String) async throws {
        let database = try await withEntries()
        #expect(throws: Never.self) { _ = try database.open() }
        let triggers = try database.rows(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'trueup_ledger'"
        )
        for trigger in triggers { try database.execute("DROP TRIGGER \(trigger[0])") }
        try database.execute(change)
        for trigger in triggers { try database.execute(trigger[1]) }
        guard case .inconsistent(let text) = try refusal(database) else {
            Issue.record("a broken ledger was taken")
            return
        }
        #expect(text.contains("ledger"))
        #expect(text.contains("Nothing was written"))
    }

    /// The triggers may be missing for a moment only, between two openings.
    @Test func `a later value is kept even where no version rose`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(["1", "2", "3"].map { subscription($0) })
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1"), drift("2"), drift("3"))
        let trigger = try #require(
            try database.value(
                "SELECT sql FROM sqlite_master WHERE name = 'trueup_raise_row_version'"))
        try database.execute(
            """
            DROP TRIGGER trueup_raise_row_version;
            UPDATE subscriptions SET status = 5 WHERE original_transaction_id = '1';
            UPDATE subscriptions SET signed_date = NULL WHERE original_transaction_id = '2';
            UPDATE subscriptions SET customer_id = 'new' WHERE original_transaction_id = '3';
            """)
        try database.execute(trigger)
        try await night.apply()
        #expect(
            try database.rows("SELECT status, signed_date FROM subscriptions ORDER BY 1 DESC, 2")
                == [["5", "1000"], ["2", "5000"], ["1", "NULL"]])
        #expect(try await night.conclude().fates() == [.stale, .stale, .applied])
    }

    @Test func `every commit is synced`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        #expect(try await store.syncsEveryCommit())
        #expect(try await store.journalMode() == "wal")
        // Also after the first write, and with another connection open.
        try store.load([subscription("1")])
        #expect(try await store.syncsEveryCommit())
    }
}
