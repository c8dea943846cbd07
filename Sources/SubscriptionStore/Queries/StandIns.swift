import GRDB
import Subscriptions

/// Rows of ours that stand under the id of a later transaction of another subscription.
///
/// That an id is a later transaction's never changes, so what was found once is kept; it counts as
/// long as the row stands.
struct StandIns {
    let db: Database

    /// Keeps what a judgement found about a row: `invalid_id` with the true original.
    func note(_ finding: Finding) throws {
        guard finding.kind == .invalidID, let key = finding.key,
            case .text(let original) = finding.appleValue
        else { return }
        try db.cachedStatement(
            sql: "INSERT OR IGNORE INTO trueup_stand_ins VALUES (?, ?, ?, ?)"
        ).execute(arguments: [
            key.bundleID, key.environment, original, key.originalTransactionID,
        ])
    }

    func rows(of original: SubscriptionKey) throws -> [SubscriptionKey] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT i.bundle_id, i.environment, i.original_transaction_id
                FROM trueup_stand_ins AS i
                CROSS JOIN subscriptions AS s ON s.bundle_id = i.bundle_id
                    AND s.environment = i.environment
                    AND s.original_transaction_id = i.original_transaction_id
                WHERE i.bundle_id = ? AND i.environment = ? AND i.true_original = ?
                ORDER BY i.original_transaction_id
                """)
        return try Row.fetchAll(statement, arguments: original.arguments)
            .map { SubscriptionKey($0, at: 0) }
    }
}
