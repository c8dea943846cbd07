import GRDB
package import Subscriptions

/// Which findings are acknowledged, and the ledger of the decisions that say so.
struct Acknowledgements {
    let db: Database

    /// The newest decision about each finding, where it is an acknowledgement that has not ended.
    static let isStanding = """
        d.action = 'acknowledge' AND (d.until IS NULL OR d.until > ?1)
            AND NOT EXISTS (SELECT 1 FROM trueup_decisions AS n
                WHERE n.finding_id = d.finding_id AND n.decision > d.decision)
        """

    /// Findings of a checkpoint that are acknowledged at a moment, and have not changed since.
    ///
    /// A finding that was fixed since, or came back with other values, is not acknowledged: the
    /// decision was about the finding as it was.
    func standing(
        inPass passID: Int64, at now: Timestamp
    ) throws -> [(findingSequence: Int64, decision: Int64)] {
        let decisions = try Row.fetchAll(
            db,
            sql: """
                SELECT d.decision, d.finding_id, d.content FROM trueup_decisions AS d
                WHERE \(Self.isStanding)
                    AND EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                        WHERE f.pass_id = ?2 AND f.finding_id = d.finding_id
                            AND f.superseded_by IS NULL)
                    AND EXISTS (SELECT 1 FROM trueup_findings AS h
                        WHERE h.finding_id = d.finding_id AND h.state = 'acknowledged')
                ORDER BY d.decision
                """,
            arguments: [now.unixMilliseconds, passID])
        return try decisions.flatMap { row in
            let found = try contents(of: row.requiredText(at: 1), inPass: passID)
            let isAsItWas = found.digest == row.requiredText(at: 2)
            return (isAsItWas ? found.sequences : []).map { ($0, row.integer(at: 0) ?? 0) }
        }
    }

    /// A digest of what a finding states in a checkpoint: severity, stored value and Apple's value.
    ///
    /// Its cause and the run's own times are not part: they change without the finding changing.
    func contents(
        of findingID: String, inPass passID: Int64
    ) throws -> (digest: String, sequences: [Int64]) {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT finding_seq, severity, local_value, apple_value, ifnull(transaction_id, '')
                FROM trueup_pass_findings
                WHERE pass_id = ? AND finding_id = ? AND superseded_by IS NULL
                ORDER BY ifnull(transaction_id, '')
                """,
            arguments: [passID, findingID])
        let texts = rows.map { row in
            (1...4).map { row.requiredText(at: $0) }.joined(separator: "\u{1F}")
        }
        return (
            Hexadecimal.sha256(of: texts.joined(separator: "\u{1E}").utf8),
            rows.map { $0.integer(at: 0) ?? 0 }
        )
    }

    /// Adds a decision to the chain.
    func append(_ unsealed: Decision) throws -> Decision {
        var decision = unsealed
        let head = try Row.fetchOne(
            db, sql: "SELECT decision, hash FROM trueup_decisions ORDER BY decision DESC LIMIT 1")
        decision.number = (head?.integer(at: 0) ?? 0) + 1
        decision.previousHash = head?.text(at: 1) ?? LedgerEntry.firstPreviousHash
        let sealed = decision.previousHash + decision.canonicalWithoutHash.rendered
        decision.hash = Hexadecimal.sha256(of: sealed.utf8)
        try db.execute(
            sql: "INSERT INTO trueup_decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                decision.number, decision.previousHash, decision.hash, decision.action.rawValue,
                decision.findingID, decision.content, decision.reason, decision.actor,
                decision.decidedAt.unixMilliseconds, decision.until?.unixMilliseconds,
            ])
        return decision
    }

    /// Fixes which of a run's findings were acknowledged, and by which decision.
    func mark(run: RunReference, at now: Timestamp) throws {
        for standing in try standing(inPass: run.passID, at: now) {
            try db.executeCached(
                """
                UPDATE trueup_run_findings SET state = 'acknowledged', decision = ?
                WHERE run_seq = ? AND finding_seq = ? AND state IN ('new', 'open', 'recurring')
                """, [standing.decision, run.sequence, standing.findingSequence])
        }
    }

    /// The acknowledged findings that a run reported.
    func reported(byRun sequence: Int64) throws -> [AcknowledgedFinding] {
        try read(
            """
            FROM trueup_run_findings AS r
            JOIN trueup_pass_findings AS f ON f.finding_seq = r.finding_seq
            JOIN trueup_decisions AS d ON d.decision = r.decision
            WHERE r.run_seq = ?
            GROUP BY f.finding_id
            """, [sequence])
    }

    /// The acknowledgements that are at a moment, of findings that are still seen.
    func all(at now: Timestamp) throws -> [AcknowledgedFinding] {
        try read(
            """
            FROM trueup_decisions AS d JOIN trueup_findings AS f ON f.finding_id = d.finding_id
            WHERE \(Self.isStanding) AND f.state = 'acknowledged'
            """, [now.unixMilliseconds])
    }

    private func read(
        _ source: String, _ arguments: StatementArguments
    ) throws -> [AcknowledgedFinding] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT f.finding_id, f.kind, f.severity, f.original_transaction_id, d.decision,
                    d.actor, d.reason, d.decided_at, d.until
                \(source) ORDER BY f.finding_id
                """,
            arguments: arguments
        ).compactMap { row in
            guard let kind = FindingKind(rawValue: row.requiredText(at: 1)),
                let severity = Severity(rawValue: row.requiredText(at: 2))
            else { return nil }
            return AcknowledgedFinding(
                findingID: row.requiredText(at: 0), kind: kind, severity: severity,
                originalTransactionID: row.text(at: 3), decision: row.integer(at: 4) ?? 0,
                actor: row.requiredText(at: 5), reason: row.requiredText(at: 6),
                decidedAt: row.requiredTime(at: 7),
                until: row.time(at: 8))
        }
    }
}

extension SQLiteStore {
    /// The finding whose id begins so.
    package func finding(
        beginningWith prefix: String
    ) async throws(StoreError) -> FindingLookup {
        try await read("looking for the finding \(prefix)") { db in
            let found = try Row.fetchAll(
                db,
                sql: """
                    SELECT \(RememberedFinding.columns) FROM trueup_findings AS h
                    WHERE h.finding_id >= ?1 AND h.finding_id < ?1 || 'g'
                    ORDER BY h.finding_id = ?1 DESC, h.finding_id LIMIT 6
                    """,
                arguments: [prefix]
            ).compactMap(RememberedFinding.init)
            guard let first = found.first else { return .none }
            guard found.count == 1 || first.findingID == prefix else {
                return .several(found.map(\.findingID))
            }
            return .one(first)
        }
    }

    /// Records that a person acknowledges a finding as it was last seen.
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
            // The next run sets the state again; until then this one holds.
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
