import GRDB
import Subscriptions

/// A correction of a plan that was taken up, whose row moved since the plan was made.
///
/// Where the row stands as the plan would have left it, somebody was faster and nothing is left of the
/// finding. Any other such row is asked about again: what the plan knew of it is out of date, and
/// the last look at it may give the next night no reason of its own.
struct MovedRow {
    let db: Database
    let correction: PlannedCorrection

    /// Whether every column that the correction writes has the planned value, or rests on a newer
    /// statement with the same values.
    func standsAsPlanned() throws -> Bool {
        guard correction.undoOf == nil, let standing = try standing() else { return false }
        return correction.changes.named.allSatisfy { column, change in
            let value = standing[column]
            if case (.time(let signed), .time(let planned)) = (value, change.after),
                column == SubscriptionField.signedDate.rawValue
            {
                return signed >= planned
            }
            return value == change.after || value.isEmpty && change.after.isEmpty
        }
    }

    private func standing() throws -> StandingRow? {
        switch correction.target {
        case .update(let key, _), .insert(let key): return try StandingRow.subscription(key, db)
        case .insertPeriod(let key, let subscription), .updatePeriod(let key, let subscription):
            let period = try StandingRow.period(key, db)
            let owner = TransactionField.originalTransactionID.rawValue
            return period?[owner] == .text(subscription.originalTransactionID) ? period : nil
        case .delete, .deletePeriod: return nil
        }
    }

    /// Notes what is left of a correction, where its pass works off a plan.
    ///
    /// - Parameters:
    ///   - item: The correction with its number.
    ///   - run: The run that found the row moved.
    ///   - started: When it began.
    ///   - db: The database.
    /// - Returns: Whether anything is: the row is undecided then.
    /// - Throws: What writing to the database throws.
    static func settle(
        _ item: PlanApplication.StoredCorrection, in run: RunReference, started: Timestamp,
        _ db: Database
    ) throws -> Bool {
        let isOfPlan = try Bool.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM trueup_applications
                        WHERE pass_id = ? AND plan IS NOT NULL AND undo_of IS NULL)
                    """), arguments: [run.passID])
        guard isOfPlan == true, item.correction.undoOf == nil else { return true }
        let row = MovedRow(db: db, correction: item.correction)
        if try row.standsAsPlanned() {
            try row.dropFindings(of: item.id, in: run)
            return false
        }
        try row.askAgain(since: started)
        return true
    }

    /// A row of which nothing is left to be told agrees.
    private func dropFindings(of number: Int64, in run: RunReference) throws {
        let key = correction.subscription.arguments
        let isOfRow = """
            pass_id = ? AND outcome_bundle_id = ? AND outcome_environment = ?
                AND outcome_original_transaction_id = ? AND superseded_by IS NULL
            """
        try db.cachedStatement(
            sql: """
                UPDATE trueup_pass_findings SET superseded_by = ?
                WHERE \(isOfRow) AND correction_id = ?
                """
        ).execute(arguments: [run.sequence, run.passID] + key + [number])
        try db.cachedStatement(
            sql: """
                UPDATE trueup_pass_rows SET verdict = \(VerdictCode.match.rawValue)
                WHERE pass_id = ? AND bundle_id = ? AND environment = ?
                    AND original_transaction_id = ?
                    AND verdict = \(VerdictCode.discrepancy.rawValue)
                    AND NOT EXISTS (SELECT 1 FROM trueup_pass_findings WHERE \(isOfRow))
                """
        ).execute(arguments: [run.passID] + key + [run.passID] + key)
    }

    private func askAgain(since started: Timestamp) throws {
        let reason = QuestionReason.heldBack
        try db.cachedStatement(
            sql: "\(AgendaLines.insertion) VALUES (?, ?, ?, ?, ?, ?, 1) \(AgendaLines.wakingUp)"
        ).execute(
            arguments: correction.subscription.arguments + [
                reason.rank, AgendaLine.turn(reason, isEntitling: false),
                started.unixMilliseconds,
            ])
    }
}
