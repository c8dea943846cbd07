import GRDB
import Subscriptions

/// Our rows that are stored under the id of a later transaction of another subscription.
///
/// Whether an id is a later transaction's never changes, so a result is kept; it applies as
/// long as the row exists.
struct StandIns {
    let db: Database

    /// Keeps what a judgement found about a row: `invalid_id` with the true original, which is
    /// returned.
    @discardableResult
    func note(_ finding: Finding) throws -> SubscriptionKey? {
        guard finding.kind == .invalidID, let key = finding.key,
            case .text(let original) = finding.appleValue
        else { return nil }
        try db.cachedStatement(
            sql: "INSERT OR IGNORE INTO trueup_stand_ins VALUES (?, ?, ?, ?)"
        ).execute(arguments: [
            key.bundleID, key.environment, original, key.originalTransactionID,
        ])
        return SubscriptionKey(
            bundleID: key.bundleID, environment: key.environment, originalTransactionID: original)
    }

    /// Withdraws what a pass planned for a subscription that is already stored under another id.
    ///
    /// It may have been judged before the row that is stored in its place. Its findings stay, with
    /// the reason why they are not corrected.
    func refusePlanned(for original: SubscriptionKey, by run: RunReference) throws {
        guard try !rows(of: original).isEmpty else { return }
        try db.cachedStatement(
            sql: """
                UPDATE trueup_pass_corrections SET superseded_by = ?
                WHERE pass_id = ? AND bundle_id = ? AND environment = ?
                    AND original_transaction_id = ? AND superseded_by IS NULL
                    AND fate = 'planned' AND undo_of IS NULL
                """
        ).execute(arguments: [run.sequence, run.passID] + original.arguments)
        guard db.changesCount > 0 else { return }
        try db.cachedStatement(
            sql: """
                UPDATE trueup_pass_findings
                SET action = 'refused', cause = ?, correction_id = NULL
                WHERE pass_id = ? AND outcome_bundle_id = ? AND outcome_environment = ?
                    AND outcome_original_transaction_id = ? AND superseded_by IS NULL
                    AND correction_id IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM trueup_pass_corrections AS c
                        WHERE c.correction_id = trueup_pass_findings.correction_id
                            AND c.superseded_by IS NULL)
                """
        ).execute(arguments: [VetoCause.standIn, run.passID] + original.arguments)
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
