import GRDB
import Subscriptions

/// Corrections written in one transaction because access moves between subscriptions: first
/// those that give access, then those that end it.
struct WriteUnit {
    let db: Database
    let passID: Int64

    /// The planned corrections to write together with those of this subscription, its own
    /// included, in writing order; `nil` when it is not linked to another one.
    func members(around key: SubscriptionKey) throws -> [PlanApplication.StoredCorrection]? {
        let linked = try subscriptions(linkedTo: key)
        guard linked.count > 1 else { return nil }
        var gains: [PlanApplication.StoredCorrection] = []
        var losses: [PlanApplication.StoredCorrection] = []
        for id in linked.sorted() {
            for item in try planned(id, like: key) {
                if item.correction.continuedBy.isEmpty {
                    gains.append(item)
                } else {
                    losses.append(item)
                }
            }
        }
        return gains + losses
    }

    /// All subscriptions linked to this one by continued access, in either direction.
    func subscriptions(linkedTo key: SubscriptionKey) throws -> Set<String> {
        let statement = try db.cachedStatement(
            sql: """
                SELECT continued_by FROM trueup_pass_continuations
                WHERE pass_id = ?1 AND bundle_id = ?2 AND environment = ?3
                    AND original_transaction_id = ?4
                UNION SELECT original_transaction_id FROM trueup_pass_continuations
                WHERE pass_id = ?1 AND bundle_id = ?2 AND environment = ?3 AND continued_by = ?4
                """)
        var found: Set<String> = [key.originalTransactionID]
        var open = [key.originalTransactionID]
        while let id = open.popLast() {
            let next = try String.fetchAll(
                statement, arguments: [passID, key.bundleID, key.environment, id])
            open += next.filter { found.insert($0).inserted }
        }
        return found
    }

    private func planned(
        _ id: String, like key: SubscriptionKey
    ) throws -> [PlanApplication.StoredCorrection] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(PlannedCorrection.columns), c.correction_id
                FROM trueup_pass_corrections AS c
                WHERE c.pass_id = ? AND c.fate = 'planned' AND c.superseded_by IS NULL
                    AND c.bundle_id = ? AND c.environment = ? AND c.original_transaction_id = ?
                ORDER BY c.correction_id
                """)
        return try Row.fetchAll(
            statement, arguments: [passID, key.bundleID, key.environment, id]
        ).map { row in
            PlanApplication.StoredCorrection(
                id: row.integer(at: PlannedCorrection.columnCount) ?? 0,
                correction: try PlannedCorrection(row))
        }
    }

    /// The subscription that gives access in place of the one that a correction ends: the first
    /// that is stored as entitling and does not belong to another customer.
    func standing(insteadOf correction: PlannedCorrection) throws -> String? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT status FROM subscriptions AS other
                WHERE bundle_id = ?1 AND environment = ?2 AND original_transaction_id = ?3
                    AND typeof(status) = 'integer'
                    AND NOT EXISTS (SELECT 1 FROM subscriptions AS ended
                        WHERE ended.bundle_id = ?1 AND ended.environment = ?2
                            AND ended.original_transaction_id = ?4
                            AND nullif(ended.customer_id, '') <> nullif(other.customer_id, ''))
                """)
        let key = correction.subscription
        return try correction.continuedBy.first { id in
            let status = try Int.fetchOne(
                statement,
                arguments: [key.bundleID, key.environment, id, key.originalTransactionID])
            return status.map { SubscriptionStatus(rawValue: $0).isEntitling } ?? false
        }
    }
}
