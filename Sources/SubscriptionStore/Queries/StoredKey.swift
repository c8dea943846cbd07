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

    /// Reads the three key columns, which stand in the order of `SubscriptionField`.
    init(_ row: Row) throws {
        originalTransactionID = try row.withUnsafeData(atIndex: 0) { $0 ?? Data() }
        environment = try row.withUnsafeData(atIndex: 1) { $0 ?? Data() }
        bundleID = try row.withUnsafeData(atIndex: 2) { $0 ?? Data() }
    }
}
