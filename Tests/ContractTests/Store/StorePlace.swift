import Foundation
import GRDB
import InMemoryPorts
import ReconciliationRun
import SubscriptionStore
import Subscriptions
import Testing
import trueup

/// A store to hold against its contract, and the company's services beside it.
protocol StorePlace: Sendable {
    var ports: RunPorts { get }

    /// A service of the company's writes a row, a period, or deletes a row.
    func hold(_ row: LocalSubscription) throws
    func hold(_ period: LocalTransaction) throws
    func remove(_ key: SubscriptionKey) throws

    /// Says that a report of a run will be published, as the command does.
    func awaitReport(ofRun runID: String) async throws

    /// The ledger as it stands.
    func ledger() throws -> [LedgerLine]

    /// What a concluded run reported; `nil` where it did not come to its end.
    func report(ofRun runID: String) throws -> StoredReport?
}

/// Of a ledger entry what the contract speaks of.
struct LedgerLine: Hashable {
    var number: Int64
    var previousHash: String
    var hash: String
    var runID: String
    var originalTransactionID: String
    var undoOf: Int64?
}

/// Every implementation of the run's ports to its rows and books.
enum Implementation: String, CaseIterable, CustomTestStringConvertible {
    case sqlite = "SQLite"
    case inMemory = "in memory"

    var testDescription: String { rawValue }

    func place() throws -> any StorePlace {
        switch self {
        case .sqlite: try SQLitePlace()
        case .inMemory: MemoryPlace()
        }
    }
}

private struct MemoryPlace: StorePlace {
    let store = InMemoryStore()
    var ports: RunPorts { RunPorts(store) }

    func hold(_ row: LocalSubscription) { store.hold(row) }
    func hold(_ period: LocalTransaction) { store.hold(period) }
    func remove(_ key: SubscriptionKey) { store.remove(key) }
    func awaitReport(ofRun runID: String) {}

    func ledger() -> [LedgerLine] {
        store.ledger.map {
            LedgerLine(
                number: $0.number, previousHash: $0.previousHash, hash: $0.hash, runID: $0.runID,
                originalTransactionID: $0.subscription.originalTransactionID, undoOf: $0.undoOf)
        }
    }

    func report(ofRun runID: String) -> StoredReport? { store.report(ofRun: runID) }
}

/// A database in a folder of its own that goes away with the value.
private final class SQLitePlace: StorePlace {
    private let folder: URL
    private let store: SQLiteStore
    private let service: DatabaseQueue
    var ports: RunPorts { RunPorts(store) }

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "trueup-contract-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appending(path: "trueup.sqlite").path
        try SQLiteStore.create(at: path)
        store = try SQLiteStore.open(at: path, access: .readWrite)
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        service = try DatabaseQueue(path: path, configuration: configuration)
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
        try service.write { db in
            try db.execute(
                sql: """
                    INSERT INTO \(table) (\(names)) VALUES (\(marks))
                    ON CONFLICT (\(keys.sorted().joined(separator: ", "))) DO UPDATE SET \(others)
                    """,
                arguments: StatementArguments(values.map { Self.stored($0.1) }))
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
        try service.write { db in
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
        try service.read { db in
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
    }

    func report(ofRun runID: String) throws -> StoredReport? {
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
