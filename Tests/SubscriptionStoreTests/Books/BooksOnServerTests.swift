import Foundation
import GRDB
import StoreSupport
import Subscriptions
import Testing

@testable import SubscriptionStore

/// Books that stand on a server, and the files in which machines work on them.
@Suite struct `Books on a server` {
    private let server = InMemoryBooksServer()
    private static let now = Timestamp(unixMilliseconds: 1_796_000_000_000)

    /// A machine with a copy of its own.
    private final class Machine {
        private let database: TemporaryDatabase
        let server: InMemoryBooksServer
        var path: String { database.path }

        init(_ server: InMemoryBooksServer, hasBooks: Bool = false) throws {
            database = try TemporaryDatabase(created: hasBooks)
            self.server = server
        }

        private func lock() throws -> RunLock {
            try RunLock.acquire(
                forDatabaseAt: path, holder: "test", now: now, waitMilliseconds: 0)
        }

        func place() throws {
            try BooksCopy(path: path, server: server).place(under: lock())
        }

        func bringUpToDate() throws {
            try BooksCopy(path: path, server: server).bringUpToDate(under: lock())
        }

        func open() throws -> SQLiteStore {
            try bringUpToDate()
            return try SQLiteStore.open(
                at: path, access: .readWrite, mirror: BooksMirror(server))
        }

        /// Every row of every table that the server holds, as text.
        func rows() throws -> [String: [String]] {
            try DatabaseFile(path: path).connectToRead().read { db in
                var rows: [String: [String]] = [:]
                for table in try BooksTable.all(db) {
                    let names = table.columns.map(\.name).joined(separator: ", ")
                    rows[table.name] = try Row.fetchAll(
                        db, sql: "SELECT \(names) FROM \(table.name)"
                    ).map(\.description).sorted()
                }
                return rows
            }
        }
    }

    private func refusal(_ key: String, _ resumes: Int64 = 1) -> String {
        "INSERT OR REPLACE INTO trueup_quota_refusals VALUES ('\(key)', 'p', 'e', \(resumes), 0.5)"
    }

    private func execute(_ sql: String..., in store: SQLiteStore) async throws {
        try await store.write("testing") { db in
            for statement in sql { try db.execute(sql: statement) }
        }
    }

    @Test func `are found by another machine as the first one left them`() async throws {
        let (one, other) = (try Machine(server, hasBooks: true), try Machine(server))
        try one.place()
        let store = try one.open()
        try await execute(
            refusal("a"), refusal("b"),
            """
            INSERT INTO subscriptions (bundle_id, environment, original_transaction_id, status)
            VALUES ('app', 'Production', '1', 'nobody knows')
            """,
            """
            INSERT INTO subscriptions (bundle_id, environment, original_transaction_id, product_id)
            VALUES ('app', 'Production', '2', x'00FF')
            """,
            """
            INSERT INTO trueup_company_restores VALUES (1, 2, 'twice', 'me', 3)
            """,
            """
            INSERT INTO trueup_company_restores VALUES (1, 2, 'twice', 'me', 3)
            """,
            """
            INSERT INTO trueup_passes (job, mode, settings_digest, narrowing, covers_every_row, began)
            VALUES ('nightly', 'apply', '', '', 1, 5)
            """, in: store)
        try await execute(
            refusal("a", 7), "DELETE FROM trueup_quota_refusals WHERE bundle_id = 'b'",
            "UPDATE subscriptions SET original_transaction_id = '3' WHERE original_transaction_id = '1'",
            "DELETE FROM trueup_passes", in: store)
        try store.close()

        try other.bringUpToDate()
        #expect(try other.rows() == one.rows())
        let rows = try other.rows()
        #expect(rows["subscriptions"]?.count == 2)
        #expect(rows["trueup_company_restores"]?.count == 2)
        // A number that was given once is never given again.
        #expect(rows["sqlite_sequence"]?.contains { $0.contains("trueup_passes") } == true)
        #expect(
            try SQLiteStore.open(at: other.path, access: .readOnly).databaseIdentity()
                == SQLiteStore.open(at: one.path, access: .readOnly).databaseIdentity())
    }

    @Test func `go on from another machine, and the first one notices`() async throws {
        let (one, other) = (try Machine(server, hasBooks: true), try Machine(server))
        try one.place()
        let first = try one.open()
        try await execute(refusal("a"), in: first)
        let second = try other.open()
        try await execute(refusal("b"), in: second)
        await #expect(throws: StoreError.self) {
            try await self.execute(self.refusal("c"), in: first)
        }
        try first.close()
        try await execute(refusal("d"), in: one.open())
        try other.bringUpToDate()
        #expect(try other.rows() == one.rows())
        #expect(try one.rows()["trueup_quota_refusals"]?.count == 3)
    }

    @Test func `are not written by a transaction that the server refuses`() async throws {
        let one = try Machine(server, hasBooks: true)
        try one.place()
        let store = try one.open()
        server.failNext(.refused)
        await #expect(throws: StoreError.self) {
            try await self.execute(self.refusal("a"), in: store)
        }
        #expect(try one.rows()["trueup_quota_refusals"] == [])
        try await execute(refusal("b"), in: store)
        #expect(try one.rows()["trueup_quota_refusals"]?.count == 1)
    }

    @Test func `are read anew where only the server has committed`() async throws {
        let one = try Machine(server, hasBooks: true)
        try one.place()
        let store = try one.open()
        server.failNext(.unanswered)
        await #expect(throws: StoreError.self) {
            try await self.execute(self.refusal("a"), in: store)
        }
        // Nothing more is committed from a state that is not the server's.
        await #expect(throws: StoreError.self) {
            try await self.execute(self.refusal("b"), in: store)
        }
        try store.close()
        try one.bringUpToDate()
        #expect(try one.rows()["trueup_quota_refusals"]?.count == 1)
    }

    @Test func `that were put back and went on elsewhere are not taken for the same`() async throws
    {
        let (one, other) = (try Machine(server, hasBooks: true), try Machine(server))
        try one.place()
        let restore = server.backup()
        let store = try one.open()
        try await execute(refusal("a"), in: store)
        try store.close()
        restore()
        try await execute(refusal("b"), in: other.open())
        // As many transactions later as the first machine's copy, and another one.
        try one.bringUpToDate()
        #expect(try one.rows() == other.rows())
        #expect(try one.rows()["trueup_quota_refusals"]?.first?.contains("b") == true)
    }

    @Test func `send nothing where nothing was changed`() async throws {
        let one = try Machine(server, hasBooks: true)
        try one.place()
        let store = try one.open()
        let before = server.commits
        try await execute("DELETE FROM trueup_quota_refusals", in: store)
        #expect(server.commits == before)
    }

    @Test func `are missing with words that say what to do`() throws {
        let one = try Machine(server)
        let error = #expect(throws: StoreError.self) { try one.bringUpToDate() }
        #expect(error?.exitStatus == .unavailable)
        #expect(error?.description.contains("trueup init") == true)
        #expect(!FileManager.default.fileExists(atPath: one.path))
    }

    @Test func `replace those that stood there only once they are whole`() throws {
        let (one, other) = (
            try Machine(server, hasBooks: true), try Machine(server, hasBooks: true)
        )
        try one.place()
        let standing = server.state()
        try DatabaseFile(path: other.path).connectToWrite().write { db in
            try db.execute(sql: refusal("a"))
        }
        server.failNext(.refused)
        #expect(throws: StoreError.self) { try other.place() }
        #expect(server.state() == standing)
        try other.place()
        #expect(server.state()?.identity != standing?.identity)
    }

    @Test func `leave a file alone that holds books of its own`() async throws {
        let (one, other) = (
            try Machine(server, hasBooks: true), try Machine(server, hasBooks: true)
        )
        try one.place()
        let before = try other.rows()
        let error = #expect(throws: StoreError.self) { try other.bringUpToDate() }
        #expect(error?.exitStatus == .config)
        #expect(try other.rows() == before)
    }

    @Test func `take no file for a copy that was written by itself meanwhile`() async throws {
        let one = try Machine(server, hasBooks: true)
        try one.place()
        let alone = try SQLiteStore.open(at: one.path, access: .readWrite)
        try await execute(refusal("a"), in: alone)
        try alone.close()
        let error = #expect(throws: StoreError.self) { try one.bringUpToDate() }
        #expect(error?.exitStatus == .config)
        #expect(try one.rows()["trueup_quota_refusals"]?.count == 1)
    }

    @Test func `are read again where an earlier program made the copy without a column`()
        async throws
    {
        let one = try Machine(server, hasBooks: true)
        try one.place()
        let store = try one.open()
        try await execute(
            """
            INSERT INTO subscriptions (bundle_id, environment, original_transaction_id, revoked_seats)
            VALUES ('app', 'Production', '1', 7)
            """, in: store)
        try store.close()
        let whole = try one.rows()
        let copy = try DatabaseFile(path: one.path).connectToWrite()
        try await copy.write { db in
            try db.execute(sql: "ALTER TABLE subscriptions DROP COLUMN revoked_seats")
        }
        try copy.close()
        #expect(try !BooksCopy(path: one.path, server: server).isCurrent())
        try one.bringUpToDate()
        #expect(try one.rows() == whole)
        #expect(try BooksCopy(path: one.path, server: server).isCurrent())
    }

    @Test(arguments: ["folder", "link", "link that leads nowhere"])
    func `replace nothing but a file by a copy`(what: String) throws {
        let (one, other) = (try Machine(server, hasBooks: true), try Machine(server))
        try one.place()
        let files = FileManager.default
        let target = other.path + "-target"
        switch what {
        case "folder":
            try files.createDirectory(atPath: other.path, withIntermediateDirectories: true)
        case "link":
            try Data().write(to: URL(fileURLWithPath: target))
            fallthrough
        default: try files.createSymbolicLink(atPath: other.path, withDestinationPath: target)
        }
        let before = try files.attributesOfItem(atPath: other.path)[.systemFileNumber] as? Int
        let error = #expect(throws: StoreError.self) { try other.bringUpToDate() }
        #expect(error?.exitStatus == .config, "\(String(describing: error))")
        #expect(
            try files.attributesOfItem(atPath: other.path)[.systemFileNumber] as? Int == before)
    }

    @Test func `are for their owner alone, in a copy, too`() throws {
        let (one, other) = (try Machine(server, hasBooks: true), try Machine(server))
        try one.place()
        try other.bringUpToDate()
        let attributes = try FileManager.default.attributesOfItem(atPath: other.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(!FileManager.default.fileExists(atPath: other.path + "-fetched"))
    }

    @Test func `keep the triggers of the copy`() async throws {
        let (one, other) = (try Machine(server, hasBooks: true), try Machine(server))
        try one.place()
        let store = try other.open()
        try store.refuseDamaged()
        try await execute(
            """
            INSERT INTO subscriptions (bundle_id, environment, original_transaction_id, status)
            VALUES ('app', 'Production', '1', 1)
            """, "UPDATE subscriptions SET status = 2", in: store)
        try store.close()
        try one.bringUpToDate()
        #expect(try one.rows() == other.rows())
        #expect(try one.rows()["subscriptions"]?.first?.contains("row_version:2") == true)
    }
}
