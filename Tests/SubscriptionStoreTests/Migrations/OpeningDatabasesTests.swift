import Foundation
import GRDB
import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `Opening databases` {
    private func failure(_ body: () throws -> Void) -> StoreError? {
        do {
            try body()
            return nil
        } catch {
            return error as? StoreError
        }
    }

    @Test func `names the command that creates a missing database`() throws {
        let database = try TemporaryDatabase(created: false)
        for access in [StoreAccess.readOnly, .readWrite] {
            let error = failure { _ = try database.open(access) }
            guard case .unavailable(let text) = error else {
                Issue.record("expected unavailable, got \(String(describing: error))")
                return
            }
            #expect(text.contains("trueup init"))
        }
        #expect(try database.files().isEmpty)
    }

    @Test func `creating twice keeps the rows`() throws {
        let database = try TemporaryDatabase()
        try database.open().load([subscription("1")])
        try SQLiteStore.create(at: database.path)
        #expect(try database.open().subscriptions().count == 1)
        #expect(try database.value("PRAGMA journal_mode") == "wal")
    }

    @Test func `a database gets one identity and keeps it`() throws {
        let database = try TemporaryDatabase(created: false)
        try SQLiteStore.create(at: database.path)
        let first = try database.open().databaseIdentity()
        #expect(first.utf8.count == 32)
        try SQLiteStore.create(at: database.path)
        #expect(try database.open().databaseIdentity() == first)
    }

    @Test func `leaves a foreign database as it is`() throws {
        let database = try TemporaryDatabase(created: false)
        try database.execute("CREATE TABLE invoices (number TEXT)")
        let before = try database.files()
        for attempt in [
            { _ = try SQLiteStore.create(at: database.path) }, { _ = try database.open() },
            { _ = try database.open(.readOnly) },
        ] {
            guard case .schema = failure(attempt) else {
                Issue.record("a foreign file was taken")
                return
            }
        }
        #expect(try database.files() == before)
    }

    @Test func `refuses a file that is no database`() throws {
        let database = try TemporaryDatabase(created: false)
        try Data("these are the accounts of 1926, not a database at all".utf8).write(
            to: URL(fileURLWithPath: database.path))
        guard case .schema = failure({ _ = try SQLiteStore.create(at: database.path) })
        else {
            Issue.record("a text file was taken")
            return
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: database.path)).count == 53)
    }

    @Test func `refuses a newer schema`() throws {
        let database = try TemporaryDatabase()
        try database.execute("PRAGMA user_version = 99")
        for access in [StoreAccess.readOnly, .readWrite] {
            guard case .schema(let text) = failure({ _ = try database.open(access) }) else {
                Issue.record("a newer schema was taken")
                return
            }
            #expect(text.contains("99"))
        }
    }

    @Test func `names a column that was renamed overnight`() throws {
        let database = try TemporaryDatabase()
        try database.execute("ALTER TABLE subscriptions RENAME COLUMN product_id TO product")
        guard case .schema(let text) = failure({ _ = try database.open() }) else {
            Issue.record("a renamed column was not noticed")
            return
        }
        #expect(text.contains("`product_id`"))
    }

    @Test func `accepts columns, triggers and indexes of the company's own`() throws {
        let database = try TemporaryDatabase()
        try database.execute(
            """
            ALTER TABLE subscriptions ADD COLUMN note TEXT;
            CREATE INDEX by_customer ON subscriptions (customer_id);
            """)
        #expect(throws: Never.self) { try database.open() }
    }

    @Test func `a failed creation names the folder's problem as an output`() throws {
        let database = try TemporaryDatabase(created: false)
        let path = database.path + "/nowhere/trueup.sqlite"
        guard case .notWritten = failure({ _ = try SQLiteStore.create(at: path) }) else {
            Issue.record("expected notWritten")
            return
        }
    }
}
