import GRDB
import Subscriptions

/// Puts the inverse of a run's corrections into a pass.
struct UndoStaging {
    let db: Database
    let run: RunReference
    /// The run to take back.
    let undone: String

    func stage(before position: Int64) throws -> [UndoItem] {
        try db.execute(
            sql: "INSERT OR IGNORE INTO trueup_applications (pass_id, undo_of) VALUES (?, ?)",
            arguments: [run.passID, undone])
        let items = try UndoJudgement(db: db, runID: undone)
            .items(before: position, limit: StoreLimits.correctionsPerChunk)
        let staging = CorrectionStaging(db: db, run: run)
        for item in items {
            switch item.standing {
            case .done: continue
            case .ready(var correction):
                if correction.endsAccess {
                    correction.continuedBy = try ended(inFavourOf: correction.subscription)
                }
                _ = try staging.store(correction)
                try staging.noteRow(of: correction)
            case .conflict:
                let correction = item.entry.inverse(refusedTarget(of: item.entry), undone)
                try staging.note(.stale, ofCorrection: try staging.store(correction))
                try noteMoved(correction.subscription)
            }
        }
        return items
    }

    /// Subscriptions whose access was ended because this one gives it: one of them must give it
    /// again before this one stops.
    private func ended(inFavourOf key: SubscriptionKey) throws -> [String] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT DISTINCT l.original_transaction_id FROM trueup_ledger AS l
                    INDEXED BY trueup_ledger_by_continuation
                WHERE l.bundle_id = ? AND l.environment = ? AND l.access_continues_by = ?
                    AND NOT EXISTS (SELECT 1 FROM trueup_ledger AS u WHERE u.undo_of = l.entry)
                ORDER BY l.original_transaction_id
                """)
        return try String.fetchAll(statement, arguments: key.arguments)
    }

    /// What would have taken the entry back, had the row stayed as it was.
    private func refusedTarget(of entry: LedgerEntry) -> PlannedCorrection.Target {
        let key = entry.subscription
        let version = entry.rowVersion ?? 0
        if let id = entry.transactionID {
            let period = TransactionKey(
                bundleID: key.bundleID, environment: key.environment, transactionID: id)
            return switch entry.rowAction {
            case .update: .updatePeriod(period, of: key)
            case .insert: .deletePeriod(period, of: key)
            case .delete: .insertPeriod(period, of: key)
            }
        }
        return switch entry.rowAction {
        case .update: .update(key, expectedRowVersion: version)
        case .insert: .delete(key, expectedRowVersion: version)
        case .delete: .insert(key)
        }
    }

    private func noteMoved(_ key: SubscriptionKey) throws {
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO trueup_pass_rows (
                    pass_id, bundle_id, environment, original_transaction_id, verdict, reason)
                VALUES (?, ?, ?, ?, \(VerdictCode.undecided.rawValue),
                    '\(UndecidedReason.changedDuringRun.rawValue)')
                """
        ).execute(arguments: [run.passID] + key.arguments)
    }
}
