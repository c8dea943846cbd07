import Foundation
import GRDB
import InMemoryPorts
import ReconciliationRun
import Subscriptions
import Testing
import trueup

@testable import SubscriptionStore

/// A database in a folder of its own that goes away with the value.
final class SQLitePlace: StorePlace {
    private let folder: URL
    let store: SQLiteStore
    private let service: DatabaseQueue
    private let server: (any BooksServer)?
    private let mirror: BooksMirror?
    var ports: RunPorts { RunPorts(store) }

    /// - Parameter server: Where the books are, of which the database is then the copy.
    /// - Throws: `StoreError`.
    init(server: (any BooksServer)? = nil) throws {
        self.server = server
        folder = FileManager.default.temporaryDirectory
            .appending(path: "trueup-contract-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appending(path: "trueup.sqlite").path
        try SQLiteStore.create(at: path)
        if let server {
            try server.claim()
            try BooksCopy(path: path, server: server).place(under: Self.lock(path))
        }
        mirror = server.map { BooksMirror($0) }
        store = try SQLiteStore.open(at: path, access: .readWrite, mirror: mirror)
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        service = try DatabaseQueue(path: path, configuration: configuration)
        try mirror?.watch(service)
    }

    private static func lock(_ path: String) throws -> RunLock {
        try RunLock.acquire(
            forDatabaseAt: path, holder: "test", now: Timestamp(unixMilliseconds: 0),
            waitMilliseconds: 0)
    }

    /// The books as somebody else finds them: on their server, where they have one.
    private func asOthersFindThem<Value>(_ look: (SQLiteStore) throws -> Value) throws -> Value {
        guard let server else { return try look(store) }
        let path = folder.appending(path: "\(UUID().uuidString).sqlite").path
        try BooksCopy(path: path, server: server).bringUpToDate(under: Self.lock(path))
        return try look(SQLiteStore.open(at: path, access: .readOnly))
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func hold(_ row: LocalSubscription) throws {
        let fields = SubscriptionField.stored
        try upsert("subscriptions", fields.map { ($0.rawValue, row.storedValue(of: $0)) })
    }

    func hold(_ period: LocalTransaction) throws {
        let fields = TransactionField.allCases
        try upsert("transactions", fields.map { ($0.rawValue, period.storedValue(of: $0)) })
    }

    /// The key is told by its columns: of a row that stands only the others are written.
    private func upsert(_ table: String, _ values: [(String, FieldValue)]) throws {
        let keys: Set = [
            "bundle_id", "environment",
            table == "transactions" ? "transaction_id" : "original_transaction_id",
        ]
        let names = values.map(\.0).joined(separator: ", ")
        let marks = values.map { _ in "?" }.joined(separator: ", ")
        let others = values.map(\.0).filter { !keys.contains($0) }
            .map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        try write { db in
            try db.execute(
                sql: """
                    INSERT INTO \(table) (\(names)) VALUES (\(marks))
                    ON CONFLICT (\(keys.sorted().joined(separator: ", "))) DO UPDATE SET \(others)
                    """,
                arguments: StatementArguments(values.map { Self.stored($0.1) }))
        }
    }

    /// Writes as a service of the company's does; on a server, too.
    func write(_ body: (Database) throws -> Void) throws {
        try service.write { db in
            try body(db)
            try mirror?.commit(db)
        }
    }

    private static func stored(_ value: FieldValue) -> (any DatabaseValueConvertible)? {
        switch value {
        case .null: nil
        case .text(let text): text
        case .integer(let number): number
        case .time(let time): time.unixMilliseconds
        }
    }

    func remove(_ key: SubscriptionKey) throws {
        try write { db in
            try db.execute(
                sql: """
                    DELETE FROM subscriptions
                    WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                    """,
                arguments: [key.bundleID, key.environment, key.originalTransactionID])
        }
    }

    func awaitReport(ofRun runID: String) async throws {
        try await store.reportIsAwaited(ofRun: runID)
    }

    func ledger() throws -> [LedgerLine] {
        try asOthersFindThem { try $0.connection.read(Self.ledger) }
    }

    private static func ledger(_ db: Database) throws -> [LedgerLine] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT entry, previous_hash, hash, run_id, original_transaction_id, undo_of
                FROM trueup_ledger ORDER BY entry
                """
        ).map { row in
            LedgerLine(
                number: row[0], previousHash: row[1], hash: row[2], runID: row[3],
                originalTransactionID: row[4], undoOf: row[5])
        }
    }

    func report(ofRun runID: String) throws -> StoredReport? {
        try asOthersFindThem { try Self.report(ofRun: runID, in: $0) }
    }

    private static func report(ofRun runID: String, in store: SQLiteStore) throws -> StoredReport? {
        guard let record = try? store.runRecord(ofRun: runID) else { return nil }
        var report = StoredReport()
        report.totals = try record.summary().totals
        try record.forEachUndecided { report.undecided[$0.key] = $0.reason }
        try record.forEachCorrection { report.entries.append($0.number) }
        try record.forEachFinding {
            report.kinds.append($0.finding.kind)
            if let cause = $0.finding.cause { report.causes.append(cause) }
        }
        return report
    }
}
