import Foundation
import GRDB
import StoreSupport
import SubscriptionStore
import Subscriptions
import Testing

/// A database in a folder of its own that goes away with the value.
final class TemporaryDatabase {
    let folder: URL
    var path: String { folder.appending(path: "trueup.sqlite").path }

    init(created: Bool = true) throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "trueup-store-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        if created { try BlankDatabase.write(to: path) }
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    func open(_ access: StoreAccess = .readWrite) throws -> SQLiteStore {
        try SQLiteStore.open(at: path, access: access)
    }

    /// What every command that writes does before it opens an older database.
    func bringUpToDate(by steps: [Migration] = Migration.all) throws {
        let lock = try RunLock.acquire(
            forDatabaseAt: path, holder: "test", now: Timestamp(unixMilliseconds: 0),
            waitMilliseconds: 0)
        try SQLiteStore.bringUpToDate(at: path, under: lock, by: steps)
        _ = consume lock
    }

    /// A connection as one of the company's services would hold.
    func service() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    func execute(_ sql: String) throws {
        let service = try service()
        try service.write { try $0.execute(sql: sql) }
        try service.close()
    }

    func rows(_ sql: String) throws -> [[String]] {
        let service = try service()
        defer { try? service.close() }
        return try service.read { db in
            try Row.fetchAll(db, sql: sql).map { row in
                row.databaseValues.map { $0.isNull ? "NULL" : "\($0.storage.value ?? "")" }
            }
        }
    }

    func value(_ sql: String) throws -> String? { try rows(sql).first?.first }

    /// Every file of the folder with its bytes.
    func files() throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return try Dictionary(
            uniqueKeysWithValues: names.map {
                ($0, try Data(contentsOf: folder.appending(path: $0)))
            })
    }
}

let app = AppIdentity(bundleID: "com.example.app", environment: .production)

func key(_ id: String) -> SubscriptionKey { SubscriptionKey(app: app, originalTransactionID: id) }

func subscription(
    _ id: String, status: Int? = 1, signed: Int64? = 1000, customer: String? = nil
) -> LocalSubscription {
    var row = LocalSubscription(key: key(id))
    row.status = status
    row.customerID = customer
    row.signedDate = signed.map(Timestamp.init(unixMilliseconds:))
    return row
}

extension SQLiteStore {
    /// Loads lines that all give the columns of the file.
    func loadSubscriptions(
        columns: Set<SubscriptionField>, dryRun: Bool = false,
        _ produce: (_ add: (LocalSubscription) throws -> LineOutcome) throws -> Void
    ) throws -> LoadCounts {
        try loadSubscriptions(columns: columns, dryRun: dryRun) { add in
            try withoutActuallyEscaping(add) { add in try produce { try add($0, nil) } }
        }
    }

    /// Loads lines that all give the columns of the file.
    func loadTransactions(
        into table: TransactionTable = .periods, columns: Set<TransactionField>,
        dryRun: Bool = false,
        _ produce: (_ add: (LocalTransaction) throws -> LineOutcome) throws -> Void
    ) throws -> LoadCounts {
        try loadTransactions(into: table, columns: columns, dryRun: dryRun) { add in
            try withoutActuallyEscaping(add) { add in try produce { try add($0, nil) } }
        }
    }

    @discardableResult
    func load(
        _ rows: [LocalSubscription],
        columns: Set<SubscriptionField> = Set(SubscriptionField.allCases)
            .subtracting(SubscriptionField.optional)
    ) throws -> LoadCounts {
        try loadSubscriptions(columns: columns) { add in
            for row in rows { _ = try add(row) }
        }
    }

    /// Rows with what is noted about them, as a run reads them.
    func scopedRows(_ ids: [String]) async throws -> [ScopedRow] {
        let held = try await rows(holding: ids)
        let notes = try await notes(about: held.map(\.row.key))
        return held.map { ScopedRow($0, notes[$0.row.key] ?? RowNotes()) }
    }

    func subscriptions() throws -> [LocalSubscription] {
        var rows: [LocalSubscription] = []
        try forEachSubscription { rows.append($0) }
        return rows
    }
}
