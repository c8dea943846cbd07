import GRDB
package import Reconciliation
import Subscriptions

extension SQLiteStore {
    /// Counts all stored subscriptions, in one pass.
    ///
    /// - Throws: `StoreError`.
    package func count(into counter: inout SalesCounter) throws {
        try stream("counting subscriptions by product and day") { db in
            let rows = try Row.fetchCursor(db, sql: try RevenueCatMerge.stored(db))
            while let row = try rows.next() { counter.add(try Self.subscription(row, db)) }
        }
    }

    /// Reads a row of `RevenueCatMerge.stored`, with its periods where the row is as Apple signed it.
    private static func subscription(_ row: Row, _ db: Database) throws -> SalesSubscription {
        let local = LocalSubscription(row)
        let next = LocalSubscription.columnCount
        let check = CheckRecord(row, at: next)
        guard let signed = check?.check.signedDate, local.unreadable.isEmpty,
            check?.check.values == ValuesDigest(of: local)
        else { return SalesSubscription(local, signedDate: nil, periods: nil) }
        let history = next + CheckRecord.columns.count + 1
        var periods: [LocalTransaction]?
        if let count = row.number(at: history), let digest = row.text(at: history + 1) {
            let stored = try StoredSubscriptions(db: db).periods(of: local.key)
            if PeriodsDigest(stored) == PeriodsDigest(periods: count, sha256: digest) {
                periods = stored
            }
        }
        return SalesSubscription(local, signedDate: signed, periods: periods)
    }
}
