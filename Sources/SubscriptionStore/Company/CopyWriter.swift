import Foundation
import GRDB
import Subscriptions

/// Makes rows of the copy equal to what was read in the company's table.
///
/// A row is only written where a mapped value differs, so that its version rises only then. Columns
/// that are not mapped stay: they are our bookkeeping.
struct CopyWriter {
    let db: Database
    let mapping: TableMapping
    /// The number of the reading.
    let refresh: Int64

    /// Every row is marked as seen, because the two databases do not sort keys alike.
    func take(_ rows: ArraySlice<CompanyRow>) throws -> CopyRefresh {
        var counts = CopyRefresh()
        for row in rows { try take(row, &counts) }
        return counts
    }

    private func take(_ row: CompanyRow, _ counts: inout CopyRefresh) throws {
        guard try mark(row) else {
            counts.doubled &+= 1
            counts.firstDoubled = counts.firstDoubled ?? row.key
            return
        }
        counts.rows &+= 1
        if let (field, shown) = row.unreadable.min(by: { $0.key.rawValue < $1.key.rawValue }) {
            counts.unreadable &+= 1
            counts.firstUnreadable =
                counts.firstUnreadable
                ?? "\(field.rawValue) \"\(shown.prefix(40))\" of \(row.key.originalTransactionID)"
        }
        let fields = mapping.read.map(\.field).filter { !TableMapping.key.contains($0) }
        let values = fields.map { stored($0, of: row) }
        guard !fields.isEmpty else { return try insertKey(row.key, &counts) }
        let names = fields.map(\.rawValue)
        let read = try db.cachedStatement(
            sql: "SELECT \(names.joined(separator: ", ")) FROM subscriptions WHERE \(Self.isKey)")
        // Compared while it is at the cursor, where nothing has been repaired.
        let cursor = try Row.fetchCursor(read, arguments: row.key.arguments)
        let isHeld: Bool
        let isSame: Bool
        if let held = try cursor.next() {
            isHeld = true
            isSame = zip(held.databaseValues, values).allSatisfy(==)
        } else {
            isHeld = false
            isSame = false
        }
        guard !isSame else { return }
        if isHeld {
            counts.changed &+= 1
            let sets = names.map { "\($0) = ?" }.joined(separator: ", ")
            try db.cachedStatement(sql: "UPDATE subscriptions SET \(sets) WHERE \(Self.isKey)")
                .execute(arguments: StatementArguments(values) + row.key.arguments)
        } else {
            counts.inserted &+= 1
            let marks = Array(repeating: "?", count: names.count + 3).joined(separator: ", ")
            try db.cachedStatement(
                sql: """
                    INSERT INTO subscriptions (
                        bundle_id, environment, original_transaction_id,
                        \(names.joined(separator: ", "))) VALUES (\(marks))
                    """
            ).execute(arguments: row.key.arguments + StatementArguments(values))
        }
    }

    private static let isKey =
        "bundle_id = ? AND environment = ? AND original_transaction_id = ?"

    private func insertKey(_ key: SubscriptionKey, _ counts: inout CopyRefresh) throws {
        try db.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO subscriptions (
                    bundle_id, environment, original_transaction_id) VALUES (?, ?, ?)
                """
        ).execute(arguments: key.arguments)
        counts.inserted &+= Int64(db.changesCount)
    }

    /// - Returns: `false` where this reading has seen the key before.
    private func mark(_ row: CompanyRow) throws -> Bool {
        try db.cachedStatement(
            sql: """
                INSERT INTO trueup_company_rows VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET refresh = excluded.refresh, version = excluded.version
                WHERE refresh <> excluded.refresh
                """
        ).execute(arguments: row.key.arguments + [refresh, row.version])
        return db.changesCount == 1
    }

    /// An unreadable value is kept as something that has not the column's type here either, so that
    /// everybody who reads the row sees that it is unreadable.
    private func stored(_ field: SubscriptionField, of row: CompanyRow) -> DatabaseValue {
        guard let shown = row.unreadable[field] else {
            return (row.values[field] ?? .null).databaseValue
        }
        if field.form == .text { return Data(shown.utf8).databaseValue }
        // SQLite takes text for a number where it looks like one.
        return (Double(shown) == nil ? shown : "\"\(shown)\"").databaseValue
    }
}
