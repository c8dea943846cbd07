import GRDB
import Subscriptions

/// Rows of ours that stand under the id of a later transaction of another subscription.
///
/// That an id is a later transaction's never changes, so what was found once is kept; it counts as
/// long as the row stands.
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

    /// Takes back what a pass has planned for a subscription for which another row stands.
    ///
    /// The row may have been judged before the one that stands for it was. Its findings stay, and
    /// say why they are not mended, as where it was known before.
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
