import GRDB

/// What a correction that was taken back leaves to be done: its findings are true again, as far as
/// anybody knows, and the next run asks about the row.
struct TakenBackCorrection {
    let db: Database
    /// The ledger entry that was taken back.
    let entry: Int64

    func note() throws {
        try reopenFindings()
        try forgetAgreement()
    }

    /// A finding stays open until a look finds it mended, and its correction no longer stands.
    ///
    /// It has not come back by itself, so it is not recurring.
    private func reopenFindings() throws {
        try db.cachedStatement(
            sql: """
                UPDATE trueup_findings SET state = 'open', corrected_by = NULL
                WHERE state = 'corrected' AND finding_id IN (
                    SELECT f.finding_id FROM trueup_ledger AS l
                    JOIN trueup_runs AS r ON r.run_id = l.run_id
                    JOIN trueup_pass_corrections AS c ON c.pass_id = r.pass_id
                        AND c.bundle_id = l.bundle_id AND c.environment = l.environment
                        AND c.original_transaction_id = l.original_transaction_id
                        AND c.transaction_id = ifnull(l.transaction_id, '')
                        AND c.fate = 'applied'
                    JOIN trueup_pass_findings AS f ON f.pass_id = c.pass_id
                        AND f.outcome_bundle_id = l.bundle_id
                        AND f.outcome_environment = l.environment
                        AND f.outcome_original_transaction_id = l.original_transaction_id
                        AND f.correction_id = c.correction_id AND f.superseded_by IS NULL
                    WHERE l.entry = ?)
                """
        ).execute(arguments: [entry])
    }

    /// Periods do not show in the digest of a row's values, so the digest is replaced by one that no
    /// row has.
    private func forgetAgreement() throws {
        try db.cachedStatement(
            sql: """
                UPDATE trueup_checks SET agreed = 0
                WHERE (bundle_id, environment, original_transaction_id) IN (
                    SELECT bundle_id, environment, original_transaction_id
                    FROM trueup_ledger WHERE entry = ?)
                """
        ).execute(arguments: [entry])
    }
}
