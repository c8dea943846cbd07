import GRDB
import Subscriptions

/// Notes in a pass how its corrections ended.
struct CorrectionSettlement {
    let db: Database
    let run: RunReference

    /// Writes down how a correction ended, and what that means for its row.
    func settle(_ item: PlanApplication.StoredCorrection, _ fate: CorrectionFate) throws {
        try CorrectionStaging(db: db, run: run).settle(item.id, fate)
        let key = item.correction.subscription
        switch (fate, item.correction.target) {
        case (.stale, _):
            try db.cachedStatement(
                sql: """
                    UPDATE trueup_pass_rows SET verdict = \(VerdictCode.undecided.rawValue),
                        reason = '\(UndecidedReason.changedDuringRun.rawValue)'
                    WHERE pass_id = ? AND bundle_id = ? AND environment = ?
                        AND original_transaction_id = ?
                        AND verdict BETWEEN \(VerdictCode.match.rawValue)
                            AND \(VerdictCode.excluded.rawValue)
                    """
            ).execute(arguments: [run.passID] + key.arguments)
        case (.applied, .insert):
            // The walk of a run that goes on must not meet it as a row in scope.
            try db.cachedStatement(
                sql: """
                    INSERT INTO trueup_pass_rows (
                        pass_id, bundle_id, environment, original_transaction_id, verdict)
                    VALUES (?, ?, ?, ?, \(VerdictCode.inserted.rawValue))
                    ON CONFLICT DO UPDATE SET verdict = excluded.verdict
                        WHERE verdict = \(VerdictCode.noted.rawValue)
                    """
            ).execute(arguments: [run.passID] + key.arguments)
        case (.applied, .deletePeriod), (.applied, .delete):
            // Read on from its end, a history would never show again what was taken back.
            try db.cachedStatement(
                sql: """
                    DELETE FROM trueup_history_revisions WHERE bundle_id = ? AND environment = ?
                        AND original_transaction_id = ?
                    """
            ).execute(arguments: key.arguments)
        case (.applied, .updatePeriod) where item.correction.undoOf != nil:
            // What is empty again only the whole history states: no periods agree with this digest.
            try db.cachedStatement(
                sql: """
                    UPDATE trueup_history_revisions SET periods_sha256 = ''
                    WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                        AND periods_sha256 IS NOT NULL
                    """
            ).execute(arguments: key.arguments)
        default: break
        }
    }
}
