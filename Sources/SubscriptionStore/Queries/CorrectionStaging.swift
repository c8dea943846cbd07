import GRDB
import Subscriptions

/// Writes planned corrections into a pass and reads them back.
struct CorrectionStaging {
    let db: Database
    let run: RunReference

    /// Stores a correction and returns its number; one that the pass plans already is kept.
    func store(_ correction: PlannedCorrection) throws -> Int64 {
        let (target, transactionID, version) = Self.parts(of: correction.target)
        let identity: StatementArguments =
            [run.passID] + correction.subscription.arguments + [target, transactionID]
        let find = try db.cachedStatement(
            sql: """
                SELECT correction_id FROM trueup_pass_corrections
                WHERE pass_id = ? AND bundle_id = ? AND environment = ?
                    AND original_transaction_id = ? AND target = ? AND transaction_id = ?
                    AND superseded_by IS NULL
                """)
        if let id = try Int64.fetchOne(find, arguments: identity) { return id }
        try db.cachedStatement(
            sql: """
                INSERT INTO trueup_pass_corrections (
                    pass_id, bundle_id, environment, original_transaction_id, target,
                    transaction_id, expected_row_version, changes, kinds, evidence,
                    evidence_renewal, apple_signed_date, reason, staged_by)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(
            arguments: identity + [
                version, FieldValueText.encode(correction.changes),
                TextList.encode(correction.kinds.map(\.rawValue)),
                correction.evidence.hexadecimal, correction.evidenceRenewal?.hexadecimal,
                correction.appleSignedDate.unixMilliseconds, correction.reason, run.sequence,
            ])
        return db.lastInsertedRowID
    }

    /// A period's key stands in the subscription's app and environment.
    private static func parts(
        of target: PlannedCorrection.Target
    ) -> (target: String, transactionID: String, version: Int64?) {
        switch target {
        case .update(_, let version): ("update", "", version)
        case .insert: ("insert", "", nil)
        case .insertPeriod(let key, _): ("period", key.transactionID, nil)
        }
    }
}
