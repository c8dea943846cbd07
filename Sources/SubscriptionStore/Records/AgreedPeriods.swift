import GRDB
import Subscriptions

/// Brings the periods with which a history was agreed up to what this pass inserted of it.
///
/// Our own inserts are no reason to read a history again. What else changed meanwhile is: then the
/// periods without the inserted ones are not those that were compared, and the older digest stays.
struct AgreedPeriods {
    let db: Database
    let passID: Int64

    func update(of key: SubscriptionKey) throws {
        let inserted = try String.fetchSet(
            db,
            sql: """
                SELECT transaction_id FROM trueup_pass_corrections
                WHERE pass_id = ? AND bundle_id = ? AND environment = ?
                    AND original_transaction_id = ? AND target = 'period' AND fate = 'applied'
                """,
            arguments: [passID] + key.arguments)
        let now = try ScopedRows(db: db).periods(of: key)
        let before = PeriodsDigest(now.filter { !inserted.contains($0.key.transactionID) })
        let after = PeriodsDigest(now)
        try db.cachedStatement(
            sql: """
                UPDATE trueup_history_revisions SET periods = ?, periods_sha256 = ?
                WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                    AND periods = ? AND periods_sha256 = ?
                """
        ).execute(
            arguments: [after.periods, after.sha256] + key.arguments
                + [before.periods, before.sha256])
    }
}
