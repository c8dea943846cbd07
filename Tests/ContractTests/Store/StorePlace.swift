import Foundation
import GRDB
import InMemoryPorts
import PostgresDatabase
import ReconciliationRun
import Subscriptions
import Synchronization
import TestSupport
import Testing
import trueup

@testable import SubscriptionStore

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
    /// SQLite as the copy of books on a server; what is told of it afterwards is read from there.
    case onServer = "books on a server"
    #if PostgreSQL
        case postgresql = "books in PostgreSQL"
    #endif

    var testDescription: String { rawValue }

    func place() throws -> any StorePlace {
        self == .inMemory ? MemoryPlace() : try SQLitePlace(server: server())
    }

    /// Where the books are, for one that has a copy of them.
    func server() throws -> (any BooksServer)? {
        switch self {
        case .sqlite, .inMemory: nil
        case .onServer: InMemoryBooksServer()
        #if PostgreSQL
            case .postgresql: try PostgresBooks.unused()
        #endif
        }
    }
}

#if PostgreSQL
    extension PostgresBooks {
        /// One database for all: books of different names know nothing of each other.
        private static let database = Result { try TestServer.makeDatabase() }
        private static let names = Atomic<Int>(0)

        fileprivate static func unused() throws -> PostgresBooks {
            let address = try PostgresAddress(url: TestServer.url(database: database.get()))
            let number = names.add(1, ordering: .relaxed).newValue
            return PostgresBooks(
                try .libpq(address),
                schema: BooksSchema(newest: Migration.newest, tables: BooksTables.made(byVersion:)),
                name: "contract-\(number)", holder: "test", machine: "test")
        }
    }
#endif

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
