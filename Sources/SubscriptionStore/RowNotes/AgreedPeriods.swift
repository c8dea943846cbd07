import Crypto
import GRDB
import Subscriptions

/// Updates the stored digest of a subscription's periods after this pass wrote some of them.
///
/// Our own inserts and fills are no reason to read a history again. Any other change is: then
/// the periods without our writes are not those that were compared, and the
/// older digest stays.
struct AgreedPeriods {
    let db: Database
    let passID: Int64

    func update(of key: SubscriptionKey) throws {
        let written = try written(to: key)
        let now = try HeldRows(db: db).periods(of: key)
        let before = PeriodsDigest(
            now.filter { !written.inserted.contains($0.key.transactionID) }
                .map { $0.emptied(of: written.filled[$0.key.transactionID] ?? []) })
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

    /// The periods that this pass inserted, and the columns that it filled in, by transaction id.
    private func written(
        to key: SubscriptionKey
    ) throws -> (inserted: Set<String>, filled: [String: Set<TransactionField>]) {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT transaction_id, target, changes FROM trueup_pass_corrections
                WHERE pass_id = ? AND bundle_id = ? AND environment = ?
                    AND original_transaction_id = ? AND target IN ('period', 'update_period')
                    AND fate = 'applied'
                """,
            arguments: [passID] + key.arguments)
        var inserted: Set<String> = []
        var filled: [String: Set<TransactionField>] = [:]
        for row in rows {
            let id = row.requiredText(at: 0)
            if row.requiredText(at: 1) == "period" {
                inserted.insert(id)
            } else {
                let changes = try FieldValueText.changes(
                    row.requiredText(at: 2), of: ChangeSet.Table.transactions.rawValue)
                filled[id, default: []].formUnion(changes.ofPeriod.keys)
            }
        }
        return (inserted, filled)
    }
}

extension PeriodsDigest {
    /// Columns whose values are part of the digest.
    private static let compared: Set<TransactionField> = [.webOrderLineItemID, .price, .currency]

    /// Digests rows sorted by transaction id; only what a comparison uses is included.
    ///
    /// The names of empty columns are added only where there are any, so that digests of versions
    /// that did not fill columns stay valid for complete periods.
    init(_ periods: [LocalTransaction]) {
        var digest = SHA256()
        for period in periods {
            let compared: [CanonicalJSON] = [
                .string(period.key.transactionID), .text(period.webOrderLineItemID),
                period.price.map(CanonicalJSON.integer) ?? .null, .text(period.currency),
            ]
            let empty = TransactionField.statedOfEveryPeriod
                .filter { !Self.compared.contains($0) && period.value(of: $0) == .null }
                .map { CanonicalJSON.string($0.rawValue) }
            let line = CanonicalJSON.array(compared + empty)
            digest.update(data: Array((line.rendered + "\n").utf8))
        }
        self.init(periods: periods.count, sha256: digest.finalize().hexadecimal)
    }
}
