import Foundation
import GRDB
import StoreSupport
import Subscriptions

@testable import SubscriptionStore

/// A database in a folder of its own that goes away with the value.
final class SQLitePlace: Sendable {
    private let folder: URL
    let store: SQLiteStore
    let service: CompanyService
    private let server: (any BooksServer)?

    /// - Parameter server: Where the books are, of which the database is then the copy.
    /// - Throws: `StoreError`.
    init(server: (any BooksServer)? = nil) throws {
        self.server = server
        folder = FileManager.default.temporaryDirectory
            .appending(path: "trueup-contract-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appending(path: "trueup.sqlite").path
        try BlankDatabase.write(to: path)
        if let server {
            try server.claim()
            try BooksCopy(path: path, server: server).place(under: Self.lock(path))
        }
        let mirror = server.map { BooksMirror($0) }
        store = try SQLiteStore.open(at: path, access: .readWrite, mirror: mirror)
        service = try CompanyService(at: path) { try mirror?.commit($0) }
        try mirror?.watch(service.connection)
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

    /// A service of the company's writes a row.
    func hold(_ row: LocalSubscription) throws { try service.hold([row]) }

    /// A service of the company's writes a period.
    func hold(_ period: LocalTransaction) throws { try service.hold(period) }

    /// A service of the company's deletes a row.
    func remove(_ key: SubscriptionKey) throws { try service.remove(key) }

    /// Says that a report of a run will be published, as the command does.
    func awaitReport(ofRun runID: String) async throws {
        try await store.reportIsAwaited(ofRun: runID)
    }

    /// The ledger as it stands.
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

    /// What a concluded run reported; `nil` where it did not come to its end.
    func report(ofRun runID: String) throws -> StoredReport? {
        try asOthersFindThem { try StoredReport(ofRun: runID, in: $0) }
    }
}
