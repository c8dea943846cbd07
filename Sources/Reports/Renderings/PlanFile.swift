import Subscriptions

extension ReportFile {
    /// Format of `plan.json` and `undo.json`.
    private static let planFormat: Int64 = 1

    static let plan = ReportFile(
        name: "plan.json",
        purpose: "what would be or was applied: rows, expected versions, before, after, evidence"
    ) { source, file in
        let header = source.summary.header
        let head: [String: CanonicalJSON] = [
            "format": .integer(planFormat),
            "job": .string(header.job),
            "mode": .string(header.mode.rawValue),
            "plan_only": .boolean(source.context.isPlanOnly),
            "run_id": .string(header.runID),
            "scope": source.scope,
            "settings_digest": .string(header.settingsDigest),
            "started": .time(header.started),
            "tool_version": .string(source.context.toolVersion),
        ].merging(source.noticeMember) { own, _ in own }
        try SealedList.write(head: head, list: "corrections", to: &file) { append in
            try source.record.forEachPlanned { correction, fate in
                try append(.object(members(of: correction, fate: fate)))
            }
        }
    }

    private static func members(
        of correction: PlannedCorrection, fate: CorrectionFate
    ) -> [String: CanonicalJSON] {
        let action: String
        var version: CanonicalJSON = .null
        var transactionID: CanonicalJSON = .null
        switch correction.target {
        case .update(_, let expectedRowVersion):
            action = "update"
            version = .integer(expectedRowVersion)
        case .insert: action = "insert"
        case .insertPeriod(let key, of: _):
            action = "insert"
            transactionID = .string(key.transactionID)
        }
        return [
            "action": .string(action),
            "after": .object(correction.changes.mapValues(\.after.json)),
            "app": .string(correction.subscription.bundleID),
            "apple_signed_date": .time(correction.appleSignedDate),
            "before": .object(correction.changes.mapValues(\.before.json)),
            "environment": .string(correction.subscription.environment),
            "evidence": .string(correction.evidence.hexadecimal),
            "evidence_renewal": .text(correction.evidenceRenewal?.hexadecimal),
            "expected_row_version": version,
            "fate": .string(fate.rawValue),
            "kinds": .array(correction.kinds.map { .string($0.rawValue) }),
            "original_transaction_id": .string(correction.subscription.originalTransactionID),
            "reason": .string(correction.reason),
            "table": .string(correction.table),
            "transaction_id": transactionID,
        ]
    }

    static let undo = ReportFile(
        name: "undo.json",
        purpose: "the inverse of the corrections; to be applied from the last line to the first"
    ) { source, file in
        let header = source.summary.header
        let head: [String: CanonicalJSON] = [
            "format": .integer(planFormat),
            "job": .string(header.job),
            "order": .string("last_to_first"),
            "run_id": .string(header.runID),
            "scope": source.scope,
            "settings_digest": .string(header.settingsDigest),
            "tool_version": .string(source.context.toolVersion),
        ].merging(source.noticeMember) { own, _ in own }
        try SealedList.write(head: head, list: "inverses", to: &file) { append in
            try source.record.forEachCorrection { entry in
                try append(.object(inverse(of: entry)))
            }
        }
    }

    /// What takes an entry back: `before` must stand in the row now, `after` comes in its place.
    private static func inverse(of entry: LedgerEntry) -> [String: CanonicalJSON] {
        [
            "action": .string(entry.isInsert ? "delete" : "update"),
            "after": .object(entry.changes.mapValues(\.before.json)),
            "app": .string(entry.subscription.bundleID),
            "before": .object(entry.changes.mapValues(\.after.json)),
            "environment": .string(entry.subscription.environment),
            "evidence": .string(entry.evidence.hexadecimal),
            "evidence_renewal": .text(entry.evidenceRenewal?.hexadecimal),
            "ledger_hash": .string(entry.hash),
            "original_transaction_id": .string(entry.subscription.originalTransactionID),
            "table": .string(entry.table),
            "transaction_id": .text(entry.transactionID),
            "undo_of": .integer(entry.number),
        ]
    }
}
