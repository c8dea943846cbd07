import GRDB
package import Subscriptions

extension SQLiteStore {
    /// The finding whose id begins so.
    package func finding(
        beginningWith prefix: String
    ) async throws(StoreError) -> FindingLookup {
        try await read("looking for the finding \(prefix)") { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT finding_id, kind, severity, original_transaction_id, state
                    FROM trueup_findings WHERE finding_id >= ?1 AND finding_id < ?1 || 'g'
                    ORDER BY finding_id = ?1 DESC, finding_id LIMIT 6
                    """,
                arguments: [prefix])
            guard let first = rows.first else { return .none }
            guard rows.count == 1 || first.text(at: 0) == prefix else {
                return .several(rows.map { $0.requiredText(at: 0) })
            }
            guard let kind = FindingKind(rawValue: first.requiredText(at: 1)),
                let severity = Severity(rawValue: first.requiredText(at: 2))
            else { return .none }
            return .one(
                KnownFinding(
                    findingID: first.requiredText(at: 0), kind: kind, severity: severity,
                    originalTransactionID: first.text(at: 3), state: first.requiredText(at: 4)))
        }
    }

    /// Records that somebody knows of a finding as it was last seen.
    package func acknowledge(
        _ findingID: String, reason: String, until: Timestamp?, by actor: String, at now: Timestamp
    ) async throws(StoreError) -> Decision {
        try await decide(.acknowledge, findingID, reason, until, actor, now)
    }

    /// Records that an acknowledgement no longer counts.
    package func withdrawAcknowledgement(
        of findingID: String, reason: String, by actor: String, at now: Timestamp
    ) async throws(StoreError) -> Decision {
        try await decide(.withdraw, findingID, reason, nil, actor, now)
    }

    private func decide(
        _ action: Decision.Action, _ findingID: String, _ reason: String, _ until: Timestamp?,
        _ actor: String, _ now: Timestamp
    ) async throws(StoreError) -> Decision {
        try await rememberEndedRuns()
        return try await write("recording a decision about the finding \(findingID)") { db in
            let acknowledgements = Acknowledgements(db: db)
            let passID = try Int64.fetchOne(
                db, sql: "SELECT last_pass_id FROM trueup_findings WHERE finding_id = ?",
                arguments: [findingID])
            let content = try acknowledgements.contents(of: findingID, inPass: passID ?? 0)
            let decision = try acknowledgements.append(
                Decision(
                    number: 0, previousHash: "", action: action, findingID: findingID,
                    content: content.digest, reason: reason, actor: actor, decidedAt: now,
                    until: until))
            // The next run says what it is to be called then; until then this is what it is.
            try db.execute(
                sql: """
                    UPDATE trueup_findings SET state = ?
                    WHERE finding_id = ? AND state IN ('new', 'open', 'recurring', 'acknowledged')
                    """,
                arguments: [action == .acknowledge ? "acknowledged" : "open", findingID])
            return decision
        }
    }
}
