import Foundation
import GRDB
import StoreSupport
import Subscriptions
import Synchronization
import TestSupport

@testable import SubscriptionStore

/// The store of a world: the real one, in a folder that goes away with the value.
///
/// It syncs nothing, because no test takes the power away. Where its file cannot be read or written,
/// the tests end.
final class WorldStore: Sendable {
    private let folder: TemporaryFolder
    let books: SQLiteStore
    private let service: CompanyService
    private let deaths: Deaths

    init() {
        do {
            folder = try TemporaryFolder()
            let path = folder.url.appending(path: "trueup.sqlite").path
            try BlankDatabase.write(to: path)
            books = try SQLiteStore.open(at: path, access: .readWrite)
            service = try CompanyService(at: path)
            for connection in [books.connection, service.connection] {
                try connection.inDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF") }
            }
            deaths = Deaths()
            books.connection.inDatabase { deaths.watch($0) }
        } catch {
            fatalError("\(error)")
        }
    }

    func hold(_ rows: LocalSubscription...) { done { try service.hold(rows) } }

    func hold(_ rows: [LocalSubscription]) { done { try service.hold(rows) } }

    var rows: [SubscriptionKey: LocalSubscription] {
        done {
            var rows: [SubscriptionKey: LocalSubscription] = [:]
            try books.forEachSubscription { rows[$0.key] = $0 }
            return rows
        }
    }

    func status(of key: SubscriptionKey) -> Int? {
        done {
            try service.connection.read { db in
                try Int.fetchOne(
                    db,
                    sql: """
                        SELECT status FROM subscriptions
                        WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                        """,
                    arguments: [key.bundleID, key.environment, key.originalTransactionID])
            }
        }
    }

    var periods: [LocalTransaction] {
        done {
            var periods: [LocalTransaction] = []
            try books.forEachTransaction { periods.append($0) }
            return periods
        }
    }

    /// Of a ledger entry what the nights speak of.
    struct Entry {
        var number: Int64
        var subscription: SubscriptionKey
    }

    var ledger: [Entry] {
        done {
            try service.connection.read { db in
                try Row.fetchAll(
                    db,
                    sql: """
                        SELECT entry, bundle_id, environment, original_transaction_id
                        FROM trueup_ledger ORDER BY entry
                        """
                ).map {
                    Entry(
                        number: $0[0],
                        subscription: SubscriptionKey(
                            bundleID: $0[1], environment: $0[2], originalTransactionID: $0[3]))
                }
            }
        }
    }

    /// The identity of the plan that a run made.
    func plan(ofRun runID: String) -> String? {
        done {
            try service.connection.read { db in
                try String.fetchOne(
                    db,
                    sql: """
                        SELECT plan FROM trueup_run_plans
                        WHERE run_seq = (SELECT run_seq FROM trueup_runs WHERE run_id = ?)
                        """,
                    arguments: [runID])
            }
        }
    }

    /// What a concluded run reported; `nil` where it did not come to its end.
    func report(ofRun runID: String) -> StoredReport? {
        done { try StoredReport(ofRun: runID, in: books) }
    }

    func watermark(of app: AppIdentity) async throws -> Timestamp? {
        try await books.watermark(of: app)
    }

    /// Kills the process before the commit that follows so many more.
    func kill(afterCommits count: Int) { deaths.state.withLock { $0.last = $0.commits + count } }

    /// A new process has the database.
    func restart() { deaths.state.withLock { $0.last = nil } }

    /// How many times the program has committed something.
    var commits: Int { deaths.state.withLock(\.commits) }

    private func done<Value>(_ work: () throws -> Value) -> Value {
        do {
            return try work()
        } catch {
            fatalError("\(error)")
        }
    }
}

/// Counts what a connection commits, and lets every commit fail once the process is dead.
private final class Deaths: TransactionObserver, Sendable {
    struct State {
        var commits = 0
        var last: Int?
        /// Rows changed since the connection was opened, as of the last commit.
        var changes = 0
    }

    let state = Mutex(State())
    /// Used by the connection's own calls alone.
    private nonisolated(unsafe) weak var connection: Database?

    func watch(_ db: Database) {
        unsafe connection = db
        db.add(transactionObserver: self)
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }

    func databaseDidChange(with event: DatabaseEvent) {}

    func databaseWillCommit() throws {
        let changes = unsafe connection?.totalChangesCount ?? 0
        let isDead = state.withLock { state in
            guard changes != state.changes else { return false }
            if let last = state.last, state.commits >= last { return true }
            state.commits += 1
            state.changes = changes
            return false
        }
        if isDead { throw StoreError.unavailable("killed") }
    }

    func databaseDidCommit(_ db: Database) {}

    func databaseDidRollback(_ db: Database) {
        state.withLock { $0.changes = db.totalChangesCount }
    }
}
