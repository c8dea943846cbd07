import Foundation
import GRDB
import Subscriptions

/// A subscription's key as the bytes that are stored.
///
/// GRDB reads and binds text up to the first NUL and repairs what is not UTF-8. A key spelled so
/// would sort before the row that it came from, and the walk would meet that row for ever.
struct StoredKey: Hashable, Sendable {
    /// One column of the key.
    private struct Part: Hashable, Sendable {
        let bytes: Data
        /// A BLOB sorts after every text and equals none.
        let isBlob: Bool

        init(_ text: String) {
            bytes = Data(text.utf8)
            isBlob = false
        }

        /// GRDB lends the bytes only until the next row.
        init(_ row: Row, at index: Int) throws {
            let value: DatabaseValue = row[index]
            if case .blob = value.storage { isBlob = true } else { isBlob = false }
            bytes = try row.withUnsafeData(atIndex: index) { lent in Data([UInt8](lent ?? Data())) }
        }

        /// The text, where text carries it.
        var text: String? {
            isBlob || bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
        }

        /// An expression makes SQLite read all of the app's rows, so that only text which cannot
        /// be bound as such is cast.
        var mark: String { isBlob || text != nil ? "?" : "CAST(? AS TEXT)" }

        var argument: DatabaseValue { text?.databaseValue ?? bytes.databaseValue }
    }

    /// In the order of the primary key.
    private let parts: [Part]

    init(_ key: SubscriptionKey) {
        parts = [key.bundleID, key.environment, key.originalTransactionID].map(Part.init)
    }

    /// Nothing sorts before it.
    static let first = StoredKey(
        SubscriptionKey(bundleID: "", environment: "", originalTransactionID: ""))

    /// What to compare the primary key with in SQL, to go with `arguments`.
    ///
    /// SQLite finds its place by the whole key only when it is compared with plain parameters.
    var marks: String { "(" + parts.map(\.mark).joined(separator: ", ") + ")" }

    /// The key in the order of the primary key.
    var arguments: StatementArguments { StatementArguments(parts.map(\.argument)) }

    /// Reads the three key columns, which stand in the order of `SubscriptionField`.
    init(_ row: Row) throws {
        parts = [try Part(row, at: 2), try Part(row, at: 1), try Part(row, at: 0)]
    }

    /// Whether the key columns of a row hold exactly this text.
    ///
    /// Repairing writes U+FFFD, and nearly always changes the length.
    static func isSpelled(_ key: SubscriptionKey, in row: Row) throws -> Bool {
        let parts = [key.originalTransactionID, key.environment, key.bundleID]
        for (index, text) in parts.enumerated() {
            let value = row.stored(at: index)
            if case .blob = value.value.storage { return false }
            if value.isPlainText, case .string(text) = value.value.storage { continue }
            let stored = try row.withUnsafeData(atIndex: index) { $0?.count ?? 0 }
            let mayBeRepaired = text.utf8.contains(0xEF)
            guard stored == text.utf8.count, !mayBeRepaired else {
                return try StoredKey(row) == StoredKey(key)
            }
        }
        return true
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
