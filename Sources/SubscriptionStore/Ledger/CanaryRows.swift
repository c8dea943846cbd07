import GRDB
package import Subscriptions

/// The few subscriptions of a plan that are corrected ahead of the others.
extension SQLiteStore {
    /// How many subscriptions of the checkpoint were chosen for a canary, by this run or a killed
    /// one.
    package func canarySize(of pass: OpenPass) async throws(StoreError) -> Int {
        try await read("counting the canary") { db in
            try db.count("SELECT count(*) FROM trueup_canaries WHERE pass_id = ?", [pass.passID])
        }
    }

    /// Whether a run would continue a canary that was written and never checked.
    package func hasUnfinishedCanary(for run: RunHeader) throws(StoreError) -> Bool {
        try view("looking for an unfinished canary") { db in
            guard let passID = try PassOpening(db: db, run: run).adoptable() else {
                return false
            }
            return try db.holds("trueup_canaries WHERE pass_id = ?", [passID])
        }
    }

    /// Chooses up to `count` more subscriptions with planned corrections, taking the kinds of
    /// corrections in turn; says how many there were.
    package func extendCanary(
        by count: Int, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> Int {
        let doing = "choosing the canary"
        let passID = try await read(doing) { db in try RunReference(run, in: pass, db) }.passID
        // Chosen without the lock: no other process changes the plan during a run.
        let chosen = try await read(doing) { db in
            try db.rows(Self.canaryChoice, [passID, count])
                .map(StoredKey.init)
        }
        return try await write(doing) { db in
            for key in chosen {
                try db.executeCached(
                    """
                    INSERT INTO trueup_canaries (
                        pass_id, bundle_id, environment, original_transaction_id)
                    VALUES (?, \(key.marks.dropFirst())
                    """, [passID] + key.arguments)
            }
            try Self.completeCanary(of: passID, db)
            return chosen.count
        }
    }

    /// The kinds in turn: twenty rows of the kind that sorts first would prove little.
    private static let canaryChoice = """
        SELECT original_transaction_id, environment, bundle_id FROM (
            SELECT bundle_id, environment, original_transaction_id, kinds,
                row_number() OVER (PARTITION BY kinds
                    ORDER BY bundle_id, environment, original_transaction_id) AS place
            FROM (
                SELECT bundle_id, environment, original_transaction_id, max(kinds) AS kinds
                FROM trueup_pass_corrections
                WHERE pass_id = ?1 AND fate = 'planned' AND superseded_by IS NULL
                GROUP BY bundle_id, environment, original_transaction_id)
            WHERE (bundle_id, environment, original_transaction_id) NOT IN (
                SELECT bundle_id, environment, original_transaction_id
                FROM trueup_canaries WHERE pass_id = ?1))
        ORDER BY place, kinds, bundle_id, environment, original_transaction_id
        LIMIT ?2
        """

    /// Adds what is written in one transaction with the chosen ones, so that it is checked again
    /// too.
    private static func completeCanary(of passID: Int64, _ db: Database) throws {
        repeat {
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO trueup_canaries
                    SELECT l.pass_id, l.bundle_id, l.environment, l.linked FROM (
                        SELECT x.pass_id,
                            iif(instr(x.continued_by, '/') > 0, substr(x.continued_by, 1,
                                instr(x.continued_by, '/') - 1), x.bundle_id) AS bundle_id,
                            x.environment,
                            substr(x.continued_by, instr(x.continued_by, '/') + 1) AS linked
                        FROM trueup_canaries AS k CROSS JOIN trueup_pass_continuations AS x
                            ON k.pass_id = x.pass_id AND \(SubscriptionKey.agree("k", "x"))
                        WHERE k.pass_id = ?1
                        UNION
                        SELECT x.pass_id, x.bundle_id, x.environment, x.original_transaction_id
                        FROM trueup_canaries AS k CROSS JOIN trueup_pass_continuations AS x
                            ON k.pass_id = x.pass_id AND k.bundle_id = x.bundle_id
                            AND k.environment = x.environment
                            AND k.original_transaction_id = x.continued_by
                        WHERE k.pass_id = ?1) AS l
                    WHERE EXISTS (SELECT 1 FROM trueup_pass_corrections AS c
                        WHERE c.pass_id = l.pass_id AND c.bundle_id = l.bundle_id
                            AND c.environment = l.environment
                            AND c.original_transaction_id = l.linked
                            AND c.fate = 'planned' AND c.superseded_by IS NULL)
                    """,
                arguments: [passID])
        } while db.changesCount > 0
    }

    /// The chosen subscriptions whose corrections were all written, by key.
    package func writtenCanary(of pass: OpenPass) async throws(StoreError) -> [CanaryRow] {
        try await read("reading the canary") { db in
            let isItsOwn = """
                c.pass_id = k.pass_id AND \(SubscriptionKey.agree("c", "k"))
                """
            let keys = try db.rows(
                """
                SELECT k.bundle_id, k.environment, k.original_transaction_id
                FROM trueup_canaries AS k WHERE k.pass_id = ?
                    AND EXISTS (SELECT 1 FROM trueup_pass_corrections AS c
                        WHERE \(isItsOwn) AND c.fate = 'applied')
                    AND NOT EXISTS (SELECT 1 FROM trueup_pass_corrections AS c
                        WHERE \(isItsOwn) AND c.superseded_by IS NULL AND c.fate <> 'applied')
                ORDER BY k.bundle_id, k.environment, k.original_transaction_id
                """, [pass.passID]
            ).map { SubscriptionKey($0, at: 0) }
            return try keys.map { key in
                let kinds = try db.texts(
                    """
                    SELECT DISTINCT kind FROM trueup_pass_findings
                    WHERE pass_id = ? AND outcome_bundle_id = ? AND outcome_environment = ?
                        AND outcome_original_transaction_id = ? AND superseded_by IS NULL
                        AND is_carried = 0
                    """, [pass.passID] + key.arguments)
                return CanaryRow(
                    key: key, kindsBefore: Set(kinds.compactMap(FindingKind.init(rawValue:))))
            }
        }
    }
}
