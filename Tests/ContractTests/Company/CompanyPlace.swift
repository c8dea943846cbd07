import Foundation
import GRDB
import MySQLDatabase
import PostgresDatabase
import ProgramDatabase
import ServerConnections
import SubscriptionStore
import Subscriptions
import Synchronization
import TestSupport
import Testing
import trueup

/// Where the company's own table is.
enum CompanyPlace: String, CaseIterable, CustomTestStringConvertible {
    case file = "a file of SQLite"
    case program = "a store program"
    case postgresql = "PostgreSQL"
    case mysql = "MySQL or MariaDB"

    var testDescription: String { rawValue }

    /// The places that are here: a server that is not installed is not tried.
    static var here: [CompanyPlace] { allCases.filter(\.isHere) }

    private var isHere: Bool {
        switch self {
        case .file: return true
        case .program: return FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")
        case .postgresql:
            #if PostgreSQL
                return TestServer.isInstalled
            #else
                return false
            #endif
        case .mysql:
            #if MySQL
                return OwnMariaDB.isInstalled
            #else
                return false
            #endif
        }
    }

    /// Whether a commit here may end without an answer.
    var losesCommits: Bool { self != .file }

    /// Whether the database can be made one that may only be read, which root does with no file.
    var canBeReadOnly: Bool {
        switch self {
        case .file: getuid() != 0
        case .program: false
        case .postgresql, .mysql: true
        }
    }

    /// A table with 25 rows of its own.
    ///
    /// - Parameter isAlone: Whether it has the server of MySQL to itself.
    /// - Returns: The table.
    /// - Throws: When it cannot be made.
    func table(isAlone: Bool = false) throws -> ContractTable {
        let table = try make(isAlone: isAlone)
        for number in 1...25 {
            try table.sql(
                """
                INSERT INTO subscriptions (bundle_id, environment, original_transaction_id, status,
                    product_id) VALUES ('com.example.app', 'Production', '\(ContractTable.id(number))',
                    1, 'monthly')
                """)
        }
        return table
    }

    /// Lets the database only be read, or be written again.
    func setReadOnly(_ isReadOnly: Bool, _ table: ContractTable) throws {
        switch self {
        case .file, .program:
            try FileManager.default.setAttributes(
                [.posixPermissions: isReadOnly ? 0o444 : 0o644],
                ofItemAtPath: table.path("shop.sqlite"))
        case .postgresql:
            try table.sql(
                """
                DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = %s',
                    current_database(), '\(isReadOnly ? "on" : "off")'); END $$
                """)
        case .mysql: try table.sql("SET GLOBAL read_only = \(isReadOnly ? 1 : 0)")
        }
    }

    private func make(isAlone: Bool) throws -> ContractTable {
        let folder = try TemporaryFolder()
        let path = folder.url.path + "/shop.sqlite"
        let books = LedgerOwner(identity: "contract", path: "/books.sqlite")
        switch self {
        case .file:
            let service = try DatabaseQueue(path: path)
            try service.write { try $0.execute(sql: Self.definition) }
            return try ContractTable(folder: folder) { _ in
                let company = try SQLiteCompanyDatabase(
                    path: path, mapping: Self.mapping, books: books)
                return (company, {})
            } service: { sql in
                try service.write { try $0.execute(sql: sql) }
            }
        case .program:
            @Sendable func program(_ script: String) throws -> ProgramCompany {
                var command = try ProgramCommand(url: "program:python3 \(script) \(path)")
                command.environment = ["PATH": "/usr/bin:/bin"]
                command.directory = folder.url.path
                return try ProgramCompany(command, writes: true)
            }
            let stores = Self.root + "/docs/stores"
            // The program makes its table.
            _ = try program(stores + "/sqlite_store.py")
            var configuration = Configuration()
            configuration.busyMode = .timeout(10)
            let service = try DatabaseQueue(path: path, configuration: configuration)
            // In place of the constraint.
            try service.write {
                try $0.execute(
                    sql: """
                        CREATE TRIGGER no_99 BEFORE UPDATE ON subscriptions WHEN new.status = 99
                        BEGIN SELECT RAISE(ABORT, 'no'); END
                        """)
            }
            return try ContractTable(folder: folder) { lost in
                guard let lost else { return (try program(stores + "/sqlite_store.py"), {}) }
                let text = Self.losingProgram(over: stores, lost)
                return (try program(folder.write(text, to: "losing_store.py")), {})
            } service: { sql in
                try service.write { try $0.execute(sql: sql) }
            }
        case .postgresql: return try inPostgreSQL(folder)
        case .mysql: return try inMySQL(folder, isAlone: isAlone)
        }
    }

    /// A program that cannot tell whether its first unit was committed.
    private static func losingProgram(over stores: String, _ lost: LostCommit) -> String {
        """
        import json, os, sys
        sys.path.insert(0, "\(stores)")
        import sqlite_store
        store = sqlite_store.Store(sys.argv[1], False)
        for ask in map(json.loads, sys.stdin):
            if ask["op"] == "bye":
                break
            is_lost = ask["op"] == "write" and not os.path.exists("lost")
            answer = {}
            if not is_lost or \(lost == .answer ? "True" : "False"):
                answer = getattr(store, ask["op"])(ask)
            if is_lost:
                open("lost", "w").close()
                answer = {"committed": "unknown"}
            print(json.dumps({"id": ask["id"], **answer}), flush=True)

        """
    }

    private func inPostgreSQL(_ folder: TemporaryFolder) throws -> ContractTable {
        #if PostgreSQL
            let database = try TestServer.makeDatabase()
            let service = try TestServer.session(database: database)
            _ = try service.script(Self.definition)
            let address = try PostgresAddress(url: TestServer.url(database: database))
            return try ContractTable(folder: folder) { lost in
                let sessions = BreakablePostgresSessions()
                let company = PostgresCompany(
                    sessions.connector(to: address), mapping: Self.mapping, books: "contract")
                return (company, { sessions.set(lost == .answer ? .answerLost : .terminated) })
            } service: { sql in
                _ = try service.script(sql)
            }
        #else
            throw NotBuilt()
        #endif
    }

    private func inMySQL(_ folder: TemporaryFolder, isAlone: Bool) throws -> ContractTable {
        #if MySQL
            let server = isAlone ? try OwnMariaDB() : try Self.server.get()
            let database = "contract\(Self.databases.add(1, ordering: .relaxed).newValue)"
            try server.sql("CREATE DATABASE \(database) CHARACTER SET utf8mb4", in: "mysql")
            let address = try MySQLAddress(url: server.url(database: database))
            let service = try MariaDBSession(address)
            try service.execute(Self.definition)
            let end = { @Sendable in if isAlone { server.stop() } }
            return try ContractTable(folder: folder, end: end) { lost in
                let sessions = BreakableMySQLSessions()
                let company = MySQLCompany(
                    sessions.connector(to: address), mapping: Self.mapping, books: "contract")
                return (company, { sessions.set(lost == .answer ? .answerLost : .terminated) })
            } service: { sql in
                try service.execute(sql)
            }
        #else
            throw NotBuilt()
        #endif
    }

    private struct NotBuilt: Error {}

    #if MySQL
        static let server = Result { try OwnMariaDB() }
        private static let databases = Atomic<Int>(0)
    #endif

    private static let root: String = {
        var url = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { url.deleteLastPathComponent() }
        return url.path
    }()

    /// Read alike by all; the columns are those of the example of a store program.
    static let definition = """
        CREATE TABLE subscriptions (
            bundle_id VARCHAR(60) NOT NULL, environment VARCHAR(20) NOT NULL,
            original_transaction_id VARCHAR(60) NOT NULL, status INT CHECK (status <> 99),
            product_id TEXT, expires_date BIGINT, version INT NOT NULL DEFAULT 1,
            PRIMARY KEY (bundle_id, environment, original_transaction_id))
        """

    static var mapping: TableMapping {
        var mapping = TableMapping(
            table: CompanyTableName(name: "subscriptions"),
            columns: [
                .bundleID: .column("bundle_id", .text),
                .environment: .column("environment", .text),
                .originalTransactionID: .column("original_transaction_id", .text),
                .status: .column("status", .integer), .productID: .column("product_id", .text),
                .expiresDate: .column("expires_date", .milliseconds),
            ], versionColumn: "version")
        mapping.inserts = [:]
        return mapping
    }
}

/// What is lost of a commit whose end its client does not learn.
enum LostCommit: CaseIterable {
    /// It is done.
    case answer
    /// It is not done.
    case request
}

/// A table of the company's, our adapter over it, and the company's own service.
final class ContractTable: Sendable {
    /// An adapter, and what lets it lose its next commit.
    typealias Connection = (company: any CompanyDatabase, lose: @Sendable () -> Void)

    let company: any CompanyDatabase
    private let connect: @Sendable (LostCommit?) throws -> Connection
    private let end: @Sendable () -> Void
    private let folder: TemporaryFolder
    private let service: @Sendable (String) throws -> Void
    private let lastEntry = Mutex<Int64>(0)

    init(
        folder: TemporaryFolder, end: @escaping @Sendable () -> Void = {},
        connect: @escaping @Sendable (LostCommit?) throws -> Connection,
        service: @escaping @Sendable (String) throws -> Void
    ) throws {
        company = try connect(nil).company
        self.connect = connect
        self.end = end
        self.folder = folder
        self.service = service
    }

    deinit { end() }

    /// Our adapter over a new connection.
    func reconnect(losing lost: LostCommit? = nil) throws -> Connection { try connect(lost) }

    /// The path of a file that goes away with the table.
    func path(_ name: String) -> String { folder.url.appending(path: name).path }

    /// Does something as the company's service does.
    func sql(_ text: String) throws { try service(text) }

    static func id(_ number: Int) -> String { String(2_000_000_000_000_000 + number) }

    static func key(_ number: Int) -> SubscriptionKey { key(id(number)) }

    static func key(_ id: String) -> SubscriptionKey {
        SubscriptionKey(
            bundleID: "com.example.app", environment: "Production", originalTransactionID: id)
    }

    func row(_ number: Int) throws -> CompanyRow {
        try #require(try company.row(Self.key(number)))
    }

    /// What the service does to the row of a number.
    func service(_ change: String, of number: Int) throws {
        try sql(
            "UPDATE subscriptions SET \(change) WHERE original_transaction_id = '\(Self.id(number))'"
        )
    }

    /// A change from what a row held when it was read.
    static func update(
        _ row: CompanyRow, _ after: [MappedField: FieldValue]
    ) -> CompanyChange {
        CompanyChange(
            action: .update, key: row.key,
            before: after.reduce(into: [:]) { $0[$1.key] = row.values[$1.key] ?? .null },
            after: after, version: row.version)
    }

    func rows(limit: Int, between pages: () throws -> Void = {}) throws -> [CompanyRow] {
        var rows: [CompanyRow] = []
        var cursor: CompanyCursor?
        repeat {
            let page = try company.rows(
                of: .subscriptions, after: cursor, limit: limit, of: nil)
            rows += page.rows
            cursor = page.next
            try pages()
        } while cursor != nil
        return rows
    }

    var entries: [Int64] { get throws { try company.entries(after: 0, limit: 1000).map(\.number) } }

    static func entry(_ number: Int64) -> CompanyLedgerEntry {
        let hash = String(repeating: "0", count: 40) + String(number)
        let content = CanonicalJSON.object([
            "ledger_entry": .integer(number), "ledger_hash": .string(hash),
            "reason": .string("é 🦆 '\""),
        ])
        return CompanyLedgerEntry(
            number: number, digest: hash, run: "run", content: content.rendered,
            writtenAt: Timestamp(unixMilliseconds: 0))
    }

    /// Writes changes in one unit, or as many as one takes, each applied one with its entry.
    ///
    /// - Returns: The fates; a unit that is refused at its end has that fate for each change.
    func write(_ changes: CompanyChange...) throws -> [CompanyWriteFate] {
        guard company.correctionsPerTransaction != 1 else { return try changes.map(one) }
        return try unit(changes)
    }

    private func one(_ change: CompanyChange) throws -> CompanyWriteFate { try unit([change])[0] }

    private func unit(_ changes: [CompanyChange]) throws -> [CompanyWriteFate] {
        try company.begin()
        defer { company.rollBack() }
        var fates: [CompanyWriteFate] = []
        var appended: Int64 = 0
        for change in changes {
            let fate = try company.write(change)
            if case .applied = fate {
                appended += 1
                try company.append(Self.entry(lastEntry.withLock(\.self) + appended))
            }
            fates.append(fate)
        }
        guard appended > 0 else { return fates }
        switch try company.commit(keeping: []) {
        case .committed: break
        case .stale: return changes.map { _ in .stale }
        case .refused(let words): return changes.map { _ in .refused(words) }
        case .unknown:
            Issue.record("unknown, and nothing disturbed it")
            return fates
        }
        lastEntry.withLock { $0 += appended }
        return fates
    }
}

extension CompanyWriteFate {
    var isApplied: Bool { if case .applied = self { true } else { false } }

    var isRefused: Bool { if case .refused = self { true } else { false } }
}
