import GRDB
package import Subscriptions

/// The checks of `trueup doctor` on a database that opened.
extension SQLiteStore {
    /// Whether what this connection commits has reached the disk when the commit returns.
    package func syncsEveryCommit() async throws(StoreError) -> Bool {
        try await withoutTransaction("reading how commits are synced") { db in
            try DatabaseFile.syncsEveryCommit(db)
        }
    }

    /// The reasons for which `run` would refuse the database, though it can be read.
    package func refuseDamaged() throws(StoreError) {
        try StoreError.translating("checking the database") {
            _ = try SchemaCheck(path: file.path).refuseDamaged(file)
        }
    }

    /// For example `wal` or `delete`.
    package func journalMode() async throws(StoreError) -> String {
        try await read("reading the journal mode") { db in
            try db.text("PRAGMA journal_mode") ?? ""
        }
    }

    /// How many periods a subscription has on average, among those that have any; `nil` where none
    /// has.
    package func periodsPerSubscription() async throws(StoreError) -> Double? {
        try await read("counting the periods of subscriptions") { db in
            let row = try db.row(
                """
                SELECT count(*), count(DISTINCT original_transaction_id) FROM (
                    SELECT original_transaction_id FROM transactions LIMIT \(Self.sampled))
                """)
            guard let periods = row?.number(at: 0), let rows = row?.number(at: 1), rows > 0 else {
                return nil
            }
            return Double(periods) / Double(rows)
        }
    }

    /// An average needs no more.
    private static let sampled = 10_000

    /// By how much rows and the periods that they name disagree about when these end.
    ///
    /// Both tables hold times of Apple's; where one of them was written by another clock, most of
    /// the differences are the same. Of a large table only a part is checked.
    package func expiryDifferences() async throws(StoreError) -> ExpiryDifferences {
        try await read("comparing the ends of periods") { db in
            let rows = try db.rows(
                """
                SELECT row.expires_date - period.expires_date AS difference, count(*)
                FROM (SELECT bundle_id, environment, latest_transaction_id, expires_date
                    FROM subscriptions
                    WHERE latest_transaction_id IS NOT NULL
                        AND typeof(expires_date) = 'integer' LIMIT 100000) AS row
                JOIN transactions AS period
                    ON period.bundle_id = row.bundle_id
                    AND period.environment = row.environment
                    AND period.transaction_id = row.latest_transaction_id
                WHERE typeof(period.expires_date) = 'integer'
                GROUP BY difference
                """)
            var differences = ExpiryDifferences()
            for row in rows {
                let count: Int = row.number(at: 1) ?? 0
                differences.compared += count
                // A difference beyond 64 bits is not an integer, and no time zone either.
                guard let milliseconds = row.integer(at: 0),
                    ExpiryDifferences.zones.contains(milliseconds),
                    milliseconds % ExpiryDifferences.quarterHour == 0
                else { continue }
                differences.rows[milliseconds] = milliseconds == 0 ? nil : count
            }
            return differences
        }
    }

    /// When one more call fits into the hour of all processes on the database.
    ///
    /// - Parameters:
    ///   - account: Whose call.
    ///   - limit: The calls of any hour.
    ///   - now: The present.
    /// - Returns: `nil` where it fits now.
    /// - Throws: When the database cannot be read.
    package func nextCall(
        of account: QuotaAccount, limit: Int, at now: Timestamp
    ) async throws(StoreError) -> Timestamp? {
        let held = await CallNotes(besideDatabaseAt: file.path).hold()
        return try await quotaWindow(of: account, noted: held, at: now)
            .grant(1, limit: limit, at: now).nextFree
    }
}

/// How far stored ends of periods lie apart, where a time zone could be the reason.
package struct ExpiryDifferences: Hashable, Sendable {
    static let quarterHour: Int64 = 15 * 60 * 1000
    /// The world's time zones reach from 12 h behind to 14 h ahead of UTC; either side may be
    /// wrong.
    static let zones: ClosedRange<Int64> = -14 * 3_600_000...14 * 3_600_000

    /// Rows whose period is stored as well.
    package var compared = 0
    /// Rows by milliseconds that the row is later than its period: whole quarters of an hour.
    package var rows: [Int64: Int] = [:]

    package init() {}
}
