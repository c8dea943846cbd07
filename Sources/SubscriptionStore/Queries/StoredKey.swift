import Foundation
import GRDB
import Subscriptions

/// A subscription's key as the bytes that are stored.
///
/// GRDB reads and binds text up to the first NUL and repairs what is not UTF-8. A key spelled so
/// would sort before the row that it came from, and the walk would meet that row for ever.
struct StoredKey: Hashable, Sendable {
    let bundleID: Data
    let environment: Data
    let originalTransactionID: Data

    init(_ key: SubscriptionKey) {
        bundleID = Data(key.bundleID.utf8)
        environment = Data(key.environment.utf8)
        originalTransactionID = Data(key.originalTransactionID.utf8)
    }

    /// Nothing sorts before it.
    static let first: StoredKey? = StoredKey(
        SubscriptionKey(bundleID: "", environment: "", originalTransactionID: ""))

    /// The key in the order of the primary key, to bind as bytes and cast to text.
    var arguments: StatementArguments { [bundleID, environment, originalTransactionID] }

    /// Reads the three key columns, which stand in the order of `SubscriptionField`.
    init(_ row: Row) throws {
        originalTransactionID = try Self.copy(row, at: 0)
        environment = try Self.copy(row, at: 1)
        bundleID = try Self.copy(row, at: 2)
    }

    /// The bytes of a column; GRDB lends them only until the next row.
    private static func copy(_ row: Row, at index: Int) throws -> Data {
        try row.withUnsafeData(atIndex: index) { lent in Data([UInt8](lent ?? Data())) }
    }
}

/// The stored bytes of keys that text does not carry, by what they read as.
///
/// There are hardly ever any; each is a row that somebody damaged.
actor UnspeakableKeys {
    private var known: [SubscriptionKey: StoredKey] = [:]

    func add(_ keys: [SubscriptionKey: StoredKey]) {
        known.merge(keys) { _, new in new }
    }

    func stored(as key: SubscriptionKey) -> StoredKey { known[key] ?? StoredKey(key) }
}
