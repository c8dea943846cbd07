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

    private var parts: [Data] { [bundleID, environment, originalTransactionID] }

    /// The key as text, where text carries it.
    private var texts: [String]? {
        let texts = parts.compactMap { part in
            part.contains(0) ? nil : String(validating: part, as: UTF8.self)
        }
        return texts.count == parts.count ? texts : nil
    }

    /// What to compare the primary key with in SQL, to go with `arguments`.
    ///
    /// SQLite finds its place by the whole key only when it is compared with plain parameters; an
    /// expression makes it read all of the app's rows. So only a key that text does not carry is
    /// bound as bytes and cast.
    var marks: String {
        texts == nil ? "(CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT))" : "(?, ?, ?)"
    }

    /// The key in the order of the primary key.
    var arguments: StatementArguments {
        if let texts { StatementArguments(texts) } else { StatementArguments(parts) }
    }

    /// Reads the three key columns, which stand in the order of `SubscriptionField`.
    init(_ row: Row) throws {
        originalTransactionID = try Self.copy(row, at: 0)
        environment = try Self.copy(row, at: 1)
        bundleID = try Self.copy(row, at: 2)
    }

    /// Whether the key columns of a row hold exactly this text.
    ///
    /// Repairing writes U+FFFD, and nearly always changes the length.
    static func isSpelled(_ key: SubscriptionKey, in row: Row) throws -> Bool {
        let parts = [key.originalTransactionID, key.environment, key.bundleID]
        for (index, text) in parts.enumerated() {
            let stored = try row.withUnsafeData(atIndex: index) { $0?.count ?? 0 }
            let mayBeRepaired = text.utf8.contains(0xEF)
            guard stored == text.utf8.count, !mayBeRepaired else {
                return try StoredKey(row) == StoredKey(key)
            }
        }
        return true
    }

    /// The bytes of a column; GRDB lends them only until the next row.
    private static func copy(_ row: Row, at index: Int) throws -> Data {
        try row.withUnsafeData(atIndex: index) { lent in Data([UInt8](lent ?? Data())) }
    }
}
