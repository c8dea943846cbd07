import GRDB
import Subscriptions

/// The column `paid_elsewhere_until` of the subscription rows, which stands in a table of ours: the
/// company's services know the columns of `subscriptions` and rebuild that table with them.
enum OtherPayments {
    static let table = "trueup_other_payments"
    static let column = "paid_until"

    /// The value beside a row of `subscriptions`, by the name of that table in the query.
    static func paidUntil(of row: String) -> String {
        """
        (SELECT o.\(column) FROM main.\(table) AS o WHERE o.bundle_id = \(row).bundle_id \
        AND o.environment = \(row).environment \
        AND o.original_transaction_id = \(row).original_transaction_id)
        """
    }

    /// Whether the table holds anything, of whatever row.
    static func areKept(_ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM \(table))")) ?? false
    }

    /// Whether any row has a value.
    static func areHeld(_ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM \(table) AS o
                    CROSS JOIN subscriptions AS s ON s.bundle_id = o.bundle_id
                        AND s.environment = o.environment
                        AND s.original_transaction_id = o.original_transaction_id)
                """) ?? false
    }

    static func erase(of keys: [SubscriptionKey], _ db: Database) throws {
        let delete = try db.cachedStatement(
            sql: """
                DELETE FROM \(table) WHERE bundle_id = ? AND environment = ?
                    AND original_transaction_id = ?
                """)
        for key in keys { try delete.execute(arguments: key.arguments) }
    }
}

extension SubscriptionField {
    /// What reads the column in a query over `subscriptions`, by the name of that table there.
    func expression(of row: String) -> String {
        Self.stored.contains(self)
            ? "\(row).\(rawValue)" : "\(OtherPayments.paidUntil(of: row)) AS \(rawValue)"
    }
}
