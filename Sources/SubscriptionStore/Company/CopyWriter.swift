import Foundation
import GRDB
import Subscriptions

/// Makes rows of the copy equal to what was read in the company's table.
///
/// A row is only written where a mapped value differs, so that its version rises only then. Columns
/// that are not mapped stay: they are our bookkeeping. So does a value that was written as Apple
/// stated it, where the company's column keeps and shows less of it.
struct CopyWriter {
    let db: Database
    let mapping: TableMapping
    /// The number of the reading.
    let refresh: Int64

    /// Longer keys fit no index of a server on which the books may stand (PostgreSQL's have 2,704
    /// bytes a line), and one such row must not end every night.
    static let longestKeyBytes = 1000

    /// Every row is marked as seen, because the two databases do not sort keys alike.
    func take(_ rows: ArraySlice<CompanyRow>) throws -> CopyRefresh {
        var counts = CopyRefresh()
        var doubled = DoubledKeys(db: db)
        for row in rows {
            guard row.key.byteCount <= Self.longestKeyBytes else {
                counts.overlong &+= 1
                counts.firstOverlong = counts.firstOverlong ?? row.key
                continue
            }
            try take(row, &counts)
            try doubled.note(row)
        }
        return counts
    }

    private func take(_ row: CompanyRow, _ counts: inout CopyRefresh) throws {
        counts.doubled &+= Int64(row.twins)
        if row.twins > 0 { counts.firstDoubled = counts.firstDoubled ?? row.key }
        guard try mark(row) else {
            // Keys that the company's database sorts apart and we read alike.
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
        var values = fields.map { stored($0, of: row) }
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
            let known = Array(held.databaseValues)
            for (index, field) in fields.enumerated()
            where isReading(values[index], of: known[index], in: field) {
                values[index] = known[index]
            }
            isSame = known == values
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

    /// Whether the company's column shows what the copy holds, as well as it can.
    private func isReading(
        _ read: DatabaseValue, of held: DatabaseValue, in field: SubscriptionField
    ) -> Bool {
        guard read != held, let read = field.form.value(read), let held = field.form.value(held)
        else { return false }
        return mapping.isReading(read, of: held, in: field)
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

extension FieldForm {
    /// A stored value; `nil` where it has not the column's type.
    fileprivate func value(_ stored: DatabaseValue) -> FieldValue? {
        switch (self, stored.storage) {
        case (.time, .int64(let number)): .time(Timestamp(unixMilliseconds: number))
        case (.integer, .int64(let number)): .integer(number)
        case (.text, .string(let text)): .text(text)
        default: nil
        }
    }
}

extension SubscriptionKey {
    fileprivate var byteCount: Int {
        bundleID.utf8.count + environment.utf8.count + originalTransactionID.utf8.count
    }
}
