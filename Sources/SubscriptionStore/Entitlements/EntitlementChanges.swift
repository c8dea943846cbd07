import GRDB
package import Subscriptions

/// The changes of entitlements, which reports list.
///
/// A report lists what changed since the last report that was published; a kill leaves the changes to
/// the next one.
struct EntitlementChanges {
    let db: Database

    func add(_ entitlement: StoredEntitlement, over known: StoredEntitlement?) throws {
        try db.executeCached(
            """
            INSERT INTO trueup_entitlement_changes (
                bundle_id, environment, customer_id, entitlement, is_new, was_until,
                expires_date, grace_period_expires_date, original_transaction_id, product_id,
                will_renew, signed_date, ownership)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            entitlement.key.arguments + [known == nil, known?.expiresDate?.unixMilliseconds]
                + entitlement.values)
    }

    /// Decides which changes the report of a run that ends now lists.
    func close(run: Int64) throws {
        try db.execute(
            sql: """
                INSERT INTO trueup_run_entitlements SELECT ?1, ifnull((
                    SELECT max(e.last) FROM trueup_run_entitlements AS e
                    JOIN trueup_runs AS r ON r.run_seq = e.run_seq
                    WHERE r.ended IS NOT NULL AND NOT EXISTS (
                        SELECT 1 FROM trueup_awaited_reports AS a WHERE a.run_id = r.run_id)), 0),
                    ifnull((SELECT seq FROM sqlite_sequence
                        WHERE name = 'trueup_entitlement_changes'), 0)
                """, arguments: [run])
    }

    /// Leaves the changes of a run whose report did not come out to the next report.
    func forget(_ runID: String) throws {
        try db.execute(
            sql: """
                DELETE FROM trueup_run_entitlements WHERE run_seq = (
                    SELECT run_seq FROM trueup_runs WHERE run_id = ?)
                """, arguments: [runID])
    }

    /// Deletes a chunk of the changes that a run listed; whether there were any.
    func deleteSome(ofRun sequence: Int64) throws -> Bool {
        try db.execute(
            sql: """
                DELETE FROM trueup_entitlement_changes WHERE change IN (
                    SELECT c.change FROM trueup_entitlement_changes AS c
                    JOIN trueup_run_entitlements AS e ON e.run_seq = ? AND c.change <= e.last
                    ORDER BY c.change LIMIT \(StoreLimits.correctionsPerChunk))
                """, arguments: [sequence])
        return db.changesCount > 0
    }

    /// The changes that a run lists: one for each entitlement, from its first state to its last.
    static let ofRun = """
        SELECT last.bundle_id, last.environment, last.customer_id, last.entitlement, first.is_new,
            first.was_until, last.expires_date, last.grace_period_expires_date,
            last.original_transaction_id, last.product_id, last.will_renew, last.signed_date,
            last.ownership
        FROM (
            SELECT min(c.change) AS first, max(c.change) AS last
            FROM trueup_run_entitlements AS e
            JOIN trueup_entitlement_changes AS c ON c.change > e.after AND c.change <= e.last
            WHERE e.run_seq = ?
            GROUP BY c.bundle_id, c.environment, c.customer_id, c.entitlement) AS g
        JOIN trueup_entitlement_changes AS first ON first.change = g.first
        JOIN trueup_entitlement_changes AS last ON last.change = g.last
        ORDER BY last.bundle_id, last.environment, last.customer_id, last.entitlement
        """
}

extension SQLiteRunRecord {
    package func forEachEntitlementChange(
        _ body: (EntitlementChange) throws -> Void
    ) throws {
        try forEachRow("changes of entitlements", EntitlementChanges.ofRun, [sequence]) { row in
            try body(
                EntitlementChange(
                    bundleID: row.requiredText(), environment: row.requiredText(),
                    customerID: row.requiredText(), entitlement: row.requiredText(),
                    isNew: row.flag(), wasUntil: row.time(), until: row.time(),
                    graceUntil: row.time(), originalTransactionID: row.requiredText(),
                    productID: row.requiredText(), willRenew: row.integer().map { $0 != 0 },
                    asOf: row.time(), ownership: row.text()))
        }
    }
}
