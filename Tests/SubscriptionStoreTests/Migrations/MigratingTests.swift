import Foundation
import GRDB
import Subscriptions
import Testing

@testable import SubscriptionStore

/// A database of the newest schema is brought to schemas that no program has yet.
@Suite struct `Migrating` {
    private static let next = Migration(
        number: Migration.newest + 1,
        sql: """
            CREATE TABLE trueup_made_up (id TEXT PRIMARY KEY) WITHOUT ROWID;
            INSERT INTO trueup_made_up SELECT original_transaction_id FROM subscriptions;
            """)
    /// A step that changes what the one before it made, with what happens in its middle.
    private static func afterNext(_ middle: String = "") -> Migration {
        Migration(
            number: next.number + 1,
            sql: """
                ALTER TABLE trueup_made_up ADD COLUMN word TEXT;
                \(middle);
                UPDATE trueup_made_up SET word = 'w' || id;
                CREATE INDEX trueup_made_up_by_word ON trueup_made_up (word);
                """)
    }
    private static let steps = Migration.all + [next, afterNext()]

    private func filled() throws -> TemporaryDatabase {
        let database = try TemporaryDatabase()
        try database.open().load(["1", "2"].map { subscription($0) })
        return database
    }

    private func version(_ database: TemporaryDatabase) throws -> Int? {
        try database.value("PRAGMA user_version").flatMap { Int($0) }
    }

    @Test func `does each step in its order, and keeps the rows`() throws {
        let database = try filled()
        try database.bringUpToDate(by: Self.steps)
        #expect(try version(database) == Self.next.number + 1)
        #expect(
            try database.rows("SELECT id, word FROM trueup_made_up ORDER BY id")
                == [["1", "w1"], ["2", "w2"]])
        #expect(try database.value("SELECT count(*) FROM subscriptions") == "2")
        let before = try database.files()
        try database.bringUpToDate(by: Self.steps)
        #expect(try database.files() == before)
    }

    @Test func `makes an empty file a database with all steps`() throws {
        let made = try TemporaryDatabase(created: false)
        let connection = try made.service()
        try SchemaCheck(path: made.path, steps: Self.steps).migrate(connection)
        try connection.close()
        let migrated = try TemporaryDatabase()
        try migrated.bringUpToDate(by: Self.steps)
        let schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
        #expect(try made.rows(schema) == migrated.rows(schema))
    }

    @Test func `leaves the steps before a step that fails, and nothing of it`() throws {
        let database = try filled()
        let steps = Migration.all + [Self.next, Self.afterNext("INSERT INTO no_table VALUES (1)")]
        #expect(throws: StoreError.self) { try database.bringUpToDate(by: steps) }
        try expectFirstStepAlone(in: database)
        try database.bringUpToDate(by: Self.steps)
        #expect(try version(database) == Self.next.number + 1)
    }

    /// The files as they are in the middle of a step are what a kill at that moment leaves.
    @Test func `killed in the middle of a step goes on from the one before`() throws {
        let database = try filled()
        let killed = try TemporaryDatabase(created: false)
        let connection = try DatabaseFile(path: database.path).connectToWrite()
        try connection.inDatabase { db in
            // As little as possible in memory: more of an unfinished step is then in the files.
            try db.execute(sql: "PRAGMA cache_size = 1")
            let folder = database.folder
            let other = killed.folder
            db.add(
                function: DatabaseFunction("kill_here", argumentCount: 0) { _ in
                    for name in ["trueup.sqlite", "trueup.sqlite-wal"] {
                        try FileManager.default.copyItem(
                            at: folder.appending(path: name), to: other.appending(path: name))
                    }
                    return nil
                })
        }
        let steps = Migration.all + [Self.next, Self.afterNext("SELECT kill_here()")]
        try SchemaCheck(path: database.path, steps: steps).migrate(connection)
        try connection.close()
        #expect(try killed.files().count == 2)
        try expectFirstStepAlone(in: killed)
        try killed.bringUpToDate(by: Self.steps)
        let content = "SELECT * FROM trueup_made_up ORDER BY id"
        #expect(try killed.rows(content) == database.rows(content))
        #expect(try version(killed) == version(database))
    }

    private func expectFirstStepAlone(in database: TemporaryDatabase) throws {
        #expect(try version(database) == Self.next.number)
        #expect(try database.rows("SELECT * FROM trueup_made_up ORDER BY id") == [["1"], ["2"]])
    }

    @Test func `is refused while a run holds the lock`() throws {
        let database = try filled()
        #expect(try SQLiteStore.needsBringingUpToDate(at: database.path, by: Self.steps))
        #expect(try !SQLiteStore.needsBringingUpToDate(at: database.path))
        let held = try RunLock.acquire(
            forDatabaseAt: database.path, holder: "a run", now: Timestamp(unixMilliseconds: 0),
            waitMilliseconds: 0)
        #expect(throws: RunLockError.self) { try database.bringUpToDate(by: Self.steps) }
        _ = consume held
        #expect(try version(database) == Migration.newest)
    }

    @Test func `never leads back: the older program refuses the database and leaves it`() throws {
        let database = try filled()
        try database.bringUpToDate(by: Self.steps)
        let before = try database.files()
        for attempt in [
            { _ = try database.open() }, { _ = try database.open(.readOnly) },
            { try database.bringUpToDate() }, { _ = try SQLiteStore.create(at: database.path) },
        ] {
            let error = #expect(throws: StoreError.self) { try attempt() }
            #expect(error?.exitStatus == .config)
            #expect(
                error?.description.contains("newer trueup") == true, "\(String(describing: error))")
        }
        let after = try database.files().filter { !$0.key.hasSuffix("-lock") }
        #expect(after == before.filter { !$0.key.hasSuffix("-lock") })
    }

    @Test func `an older schema is refused by what only opens, which names the command`() throws {
        let database = try filled()
        let check = SchemaCheck(path: database.path, steps: Self.steps)
        let error = #expect(throws: StoreError.self) {
            try check.verify(DatabaseFile(path: database.path).connectToRead())
        }
        #expect(error?.description.contains("trueup init") == true)
    }
}
