import Foundation
import GRDB

/// What `trueup_entitlements` must hold beside the rows, worked out by SQL alone from
/// docs/entitlements.md; without a catalogue, so that each product is an entitlement.
enum EntitlementOracle {
    private static let expected = """
        SELECT bundle_id, environment, customer_id, product_id, max(
            CASE status
            WHEN 1 THEN expires_date
            WHEN 4 THEN CASE WHEN grace_period_expires_date IS NULL
                THEN max(expires_date + 259200000, ifnull(signed_date, 0) + 86400000)
                ELSE max(expires_date, grace_period_expires_date) END
            WHEN 5 THEN min(expires_date, ifnull(revocation_date, signed_date))
            ELSE min(expires_date, signed_date) END) AS ends
        FROM subscriptions
        WHERE nullif(customer_id, '') IS NOT NULL AND nullif(product_id, '') IS NOT NULL
            AND status IS NOT NULL AND expires_date IS NOT NULL
        GROUP BY bundle_id, environment, customer_id, product_id
        """

    /// Where the table is not what the rows say; empty where no row is ahead of its entitlement.
    static func problems(inDatabaseAt path: String) throws -> [String] {
        let database = try DatabaseQueue(path: path)
        defer { try? database.close() }
        return try database.read { db in
            let wrong = try Row.fetchAll(
                db,
                sql: """
                    SELECT r.customer_id, r.product_id, r.ends, e.expires_date FROM (\(expected)) AS r
                    LEFT JOIN trueup_entitlements AS e ON e.bundle_id = r.bundle_id
                        AND e.environment = r.environment AND e.customer_id = r.customer_id
                        AND e.entitlement = r.product_id
                    WHERE e.expires_date IS NOT r.ends
                    """)
            // What no row grants has ended when Apple signed the newest statement of the customer, or
            // that of a row that is gone.
            let left = try Row.fetchAll(
                db,
                sql: """
                    SELECT e.customer_id, e.entitlement, 'an end', e.expires_date
                    FROM trueup_entitlements AS e
                    LEFT JOIN (\(expected)) AS r ON e.bundle_id = r.bundle_id
                        AND e.environment = r.environment AND e.customer_id = r.customer_id
                        AND e.entitlement = r.product_id
                    WHERE r.ends IS NULL AND ifnull(e.expires_date > max(ifnull(e.signed_date, 0), (
                        SELECT ifnull(max(signed_date), 0) FROM subscriptions AS s
                        WHERE s.customer_id = e.customer_id AND s.bundle_id = e.bundle_id)), true)
                    """)
            return (wrong + left).map { row in
                row.databaseValues.map(\.description).joined(separator: ", ")
            }
        }
    }
}
