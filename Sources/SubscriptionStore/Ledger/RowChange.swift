import GRDB
import Subscriptions

/// Makes one correction on the company's tables, by compare-and-set.
struct RowChange {
    let db: Database
    let correction: PlannedCorrection
    /// The run's clock: a date that lies after it by more than a day counts as none.
    let now: Timestamp

    /// The database refused to change this row; other rows are not affected.
    struct Refused: Error {}

    /// - Returns: `.applied`, or `.stale` when the row moved since it was read.
    /// - Throws: `Refused` when a trigger or constraint of the company's says no.
    func make() throws -> CorrectionFate {
        switch correction.target {
        case .update(let key, let version): try update(key, version: version)
        case .insert(let key): try insert(key)
        case .insertPeriod(let key, let subscription): try insert(key, of: subscription)
        case .updatePeriod(let key, let subscription): try update(key, of: subscription)
        case .delete(let key, let version): try delete(key, version: version)
        case .deletePeriod(let key, let subscription): try delete(key, of: subscription)
        }
    }

    /// The row's version after the change; `nil` for a deleted row and for periods.
    func versionNow() throws -> Int64? {
        switch correction.target {
        case .update(let key, _), .insert(let key):
            let read = try db.cachedStatement(
                sql: """
                    SELECT row_version FROM subscriptions
                    WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                    """)
            return try Int64.fetchOne(read, arguments: key.arguments)
        case .insertPeriod, .updatePeriod, .delete, .deletePeriod: return nil
        }
    }

    private func update(_ key: SubscriptionKey, version: Int64) throws -> CorrectionFate {
        let changes = columns(leavingOut: [])
        let (isUnmoved, standing) = asItWasRead(
            changes,
            ["bundle_id = ?", "environment = ?", "original_transaction_id = ?", "row_version = ?"],
            key.arguments + [version])
        let read = try db.cachedStatement(
            sql: "SELECT signed_date FROM subscriptions WHERE \(isUnmoved)")
        guard let row = try Row.fetchOne(read, arguments: standing) else { return .stale }
        // Older evidence never overwrites newer, whatever the version says.
        if let signed = row.time(at: 0), rests(on: signed) { return .stale }
        let list = changes.map { "\($0.column) = ?" } + ["row_version = row_version + 1"]
        try execute(
            "UPDATE subscriptions SET \(list.joined(separator: ", ")) WHERE \(isUnmoved)",
            StatementArguments(changes.map(\.after)) + standing)
        return .applied
    }

    /// Whether the row rests on a later statement than the correction.
    private func rests(on signed: Timestamp) -> Bool {
        signed > correction.appleSignedDate && !signed.isAhead(of: now)
    }

    private func insert(_ key: SubscriptionKey) throws -> CorrectionFate {
        let isHeld = try db.cachedStatement(
            sql: """
                SELECT 1 FROM subscriptions
                WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                """)
        guard try Int.fetchOne(isHeld, arguments: key.arguments) == nil else { return .stale }
        let keyColumns = ["bundle_id", "environment", "original_transaction_id"]
        let changes = columns(leavingOut: keyColumns)
        try insert(into: "subscriptions", keyColumns, key.arguments, changes)
        return .applied
    }

    private func insert(
        _ key: TransactionKey, of subscription: SubscriptionKey
    ) throws -> CorrectionFate {
        let isHeld = try db.cachedStatement(
            sql: """
                SELECT 1 FROM transactions
                WHERE bundle_id = ? AND environment = ? AND transaction_id = ?
                """)
        let identity: StatementArguments = [key.bundleID, key.environment, key.transactionID]
        guard try Int.fetchOne(isHeld, arguments: identity) == nil else { return .stale }
        let keyColumns = ["bundle_id", "environment", "transaction_id", "original_transaction_id"]
        let changes = columns(leavingOut: keyColumns)
        try insert(
            into: "transactions", keyColumns, identity + [subscription.originalTransactionID],
            changes)
        return .applied
    }

    /// A period has no version: every value that is replaced must be as it was read.
    private func update(
        _ key: TransactionKey, of subscription: SubscriptionKey
    ) throws -> CorrectionFate {
        let keyColumns = ["bundle_id", "environment", "transaction_id", "original_transaction_id"]
        let changes = columns(leavingOut: keyColumns)
        guard !changes.isEmpty else { return .stale }
        let (isUnmoved, standing) = asItWasRead(
            changes, keyColumns.map { "\($0) = ?" },
            [
                key.bundleID, key.environment, key.transactionID,
                subscription.originalTransactionID,
            ])
        let read = try db.cachedStatement(
            sql: "SELECT signed_date FROM transactions WHERE \(isUnmoved)")
        guard let row = try Row.fetchOne(read, arguments: standing) else { return .stale }
        // An older statement adds nothing to a period that rests on a newer one by now.
        if correction.undoOf == nil, let signed = row.time(at: 0), rests(on: signed) {
            return .stale
        }
        let list = changes.map { "\($0.column) = ?" }.joined(separator: ", ")
        try execute(
            "UPDATE transactions SET \(list) WHERE \(isUnmoved)",
            StatementArguments(changes.map(\.after)) + standing)
        return .applied
    }

    private func delete(_ key: SubscriptionKey, version: Int64) throws -> CorrectionFate {
        let keyColumns = ["bundle_id", "environment", "original_transaction_id"]
        let changes = columns(leavingOut: keyColumns)
        let (isUnmoved, standing) = asItWasRead(
            changes,
            ["bundle_id = ?", "environment = ?", "original_transaction_id = ?", "row_version = ?"],
            key.arguments + [version])
        let read = try db.cachedStatement(sql: "SELECT 1 FROM subscriptions WHERE \(isUnmoved)")
        guard try Int.fetchOne(read, arguments: standing) != nil else { return .stale }
        try execute("DELETE FROM subscriptions WHERE \(isUnmoved)", standing)
        return .applied
    }

    /// The condition that nobody changed the row since it was read: its version, and every value
    /// to be replaced, because the version only rises while our triggers exist.
    ///
    /// A column that was read as empty may hold NULL or an empty text.
    private func asItWasRead(
        _ changes: [Change], _ identity: [String], _ arguments: StatementArguments
    ) -> (sql: String, arguments: StatementArguments) {
        var terms = identity
        var arguments = arguments
        for change in changes {
            if change.before.isNull {
                terms.append("nullif(\(change.column), '') IS NULL")
            } else {
                terms.append("\(change.column) IS ? COLLATE BINARY")
                arguments += [change.before]
            }
        }
        return (terms.joined(separator: " AND "), arguments)
    }

    /// A period has no version: it must be exactly as it was inserted.
    private func delete(
        _ key: TransactionKey, of subscription: SubscriptionKey
    ) throws -> CorrectionFate {
        let inserted = StandingRow(
            inserted: correction.changes.before, of: subscription,
            transactionID: key.transactionID)
        guard try StandingRow.period(key, db) == inserted else { return .stale }
        try execute(
            """
            DELETE FROM transactions
            WHERE bundle_id = ? AND environment = ? AND transaction_id = ?
            """, [key.bundleID, key.environment, key.transactionID])
        return .applied
    }

    private func insert(
        into table: String, _ keyColumns: [String], _ key: StatementArguments,
        _ changes: [Change]
    ) throws {
        let columns = keyColumns + changes.map(\.column)
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        try execute(
            "INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(marks))",
            key + StatementArguments(changes.map(\.after)))
    }

    private struct Change {
        let column: String
        let before: DatabaseValue
        let after: DatabaseValue
    }

    /// The changed columns by name.
    private func columns(leavingOut keyColumns: [String]) -> [Change] {
        correction.changes.named.filter { !keyColumns.contains($0.column) }.map {
            Change(
                column: $0.column, before: $0.change.before.databaseValue,
                after: $0.change.after.databaseValue)
        }
    }

    private func execute(_ sql: String, _ arguments: StatementArguments) throws {
        do {
            try db.cachedStatement(sql: sql).execute(arguments: arguments)
        } catch let error as DatabaseError where Self.concernsRowAlone(error) {
            throw Refused()
        }
        // A trigger can also make a write vanish without a word.
        guard db.changesCount == 1 else { throw Refused() }
    }

    /// Whether a constraint, or one of the company's triggers, refused this row alone.
    ///
    /// A missing column or table of ours affects every row: the schema has changed.
    private static func concernsRowAlone(_ error: DatabaseError) -> Bool {
        switch error.resultCode {
        case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG: return true
        case .SQLITE_ERROR:
            let message = error.message ?? ""
            return !message.hasPrefix("no such column") && !message.contains("has no column")
                && !["subscriptions", "transactions"].contains {
                    message.hasPrefix("no such table: \($0)")
                }
        default: return false
        }
    }
}
