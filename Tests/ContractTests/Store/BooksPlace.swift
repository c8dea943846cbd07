import PostgresDatabase
import StoreSupport
import SubscriptionStore
import Subscriptions
import Synchronization
import TestSupport
import Testing
import trueup

/// Of a ledger entry what the contract speaks of.
struct LedgerLine: Hashable {
    var number: Int64
    var previousHash: String
    var hash: String
    var runID: String
    var originalTransactionID: String
    var undoOf: Int64?
}

/// Where the books stand that a contract is held against.
enum BooksPlace: String, CaseIterable, CustomTestStringConvertible {
    case file = "a file"
    /// The file is the copy of books on a server; what is told of it afterwards is read from there.
    case onServer = "books on a server"
    #if PostgreSQL
        case postgresql = "books in PostgreSQL"
    #endif

    var testDescription: String { rawValue }

    func place() throws -> SQLitePlace { try SQLitePlace(server: server()) }

    /// Where the books are, for one that has a copy of them.
    func server() throws -> (any BooksServer)? {
        switch self {
        case .file: nil
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
                schema: BooksSchema(newest: Migration.newest, tables: BooksTable.made(byVersion:)),
                name: "contract-\(number)", holder: "test", machine: "test")
        }
    }
#endif
