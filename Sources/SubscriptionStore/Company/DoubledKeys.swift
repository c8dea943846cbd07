import GRDB
import Subscriptions

/// Keys that several rows of the company's own table have: the copy holds one row of each.
struct DoubledKeys {
    let db: Database
    private lazy var areAny: Bool? = try? Bool.fetchOne(
        db, sql: "SELECT EXISTS (SELECT 1 FROM trueup_company_doubled)")

    init(db: Database) { self.db = db }

    /// Whether the row `s` is one of several, in the table that it is a copy of.
    static let isDoubled = """
        EXISTS (SELECT 1 FROM trueup_company_doubled AS c
            WHERE c.bundle_id = s.bundle_id AND c.environment = s.environment
                AND c.original_transaction_id = s.original_transaction_id)
        """

    /// Notes what a reading met; nearly always that is nothing.
    mutating func note(_ row: CompanyRow) throws {
        if row.twins > 0 {
            try db.cachedStatement(
                sql: "INSERT OR IGNORE INTO trueup_company_doubled VALUES (?, ?, ?)"
            ).execute(arguments: row.key.arguments)
            areAny = true
        } else if areAny ?? true {
            try forget(row.key)
        }
    }

    func forget(_ key: SubscriptionKey) throws {
        try db.cachedStatement(
            sql: """
                DELETE FROM trueup_company_doubled
                WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                """
        ).execute(arguments: key.arguments)
    }

    func contains(_ key: SubscriptionKey) throws -> Bool {
        try Row.fetchOne(
            db,
            sql: """
                SELECT 1 FROM trueup_company_doubled
                WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                """, arguments: key.arguments) != nil
    }

    /// Keys of which no report says yet that several rows have them.
    ///
    /// The values of the row itself say nothing of it.
    func unreported() throws -> Set<SubscriptionKey> {
        let found = try Row.fetchAll(
            db,
            sql: """
                SELECT c.bundle_id, c.environment, c.original_transaction_id
                FROM trueup_company_doubled AS c
                WHERE NOT EXISTS (SELECT 1 FROM trueup_findings AS h
                    WHERE h.bundle_id = c.bundle_id AND h.environment = c.environment
                        AND h.original_transaction_id = c.original_transaction_id
                        AND h.kind = '\(FindingKind.duplicateLocal.rawValue)'
                        AND h.state IN \(FindingLook.unresolved))
                """)
        return Set(found.map { SubscriptionKey($0, at: 0) })
    }
}
