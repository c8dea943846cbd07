import GRDB
package import Subscriptions

extension SQLiteStore {
    package func conclude(
        _ conclusion: RunConclusion, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        let doing = "concluding the run \(run.runID)"
        let reference = try await read(doing) { db in try RunReference(run, in: pass, db) }
        let chunks = ChunkedConclusion(run: reference, header: run, conclusion: conclusion)
        for step in chunks.steps {
            var position = StoredKey.first
            while let start = position {
                position = try await write(doing) { db in try step.run(start, db) }
            }
        }
        try await write(doing) { db in
            try RunConclusionWriter(db: db, run: reference, header: run, conclusion: conclusion)
                .write()
        }
        if conclusion.closesPass { try await purgeEndedPasses() }
    }
}

/// The part of a conclusion that may concern every row, a range of keys per transaction.
///
/// What it writes counts only once the run has ended: a run killed meanwhile leaves it to the next
/// `begin` to throw away.
struct ChunkedConclusion: Sendable {
    let run: RunReference
    let header: RunHeader
    let conclusion: RunConclusion

    struct Step: Sendable {
        /// Works on the keys from the given one on; returns where to go on, or `nil` at the end.
        let run: @Sendable (StoredKey, Database) throws -> StoredKey?
    }

    /// Keys from the first (included) to the second (left out); `nil` is the end.
    private typealias Range = (start: StoredKey, end: StoredKey?)

    var steps: [Step] {
        var steps = [
            Step { start, db in
                try forRange(of: "trueup_pass_rows", start, db) { try listUndecided($0, db) }
            }
        ]
        if conclusion.settlesUnreached {
            let scope = coversEveryRow ? "subscriptions" : "trueup_touched"
            steps.append(
                Step { start, db in
                    try forRange(of: scope, start, db) { range in
                        try listUnreached(range, scope, db)
                    }
                })
        }
        if conclusion.closesPass, header.mode == .apply, header.narrowing.isEmpty {
            steps.append(
                Step { start, db in
                    try forRange(of: "trueup_pass_revisions", start, db) {
                        try promoteRevisions($0, db)
                    }
                })
        }
        return steps
    }

    private var coversEveryRow: Bool { header.coversEveryRow && header.narrowing.isEmpty }

    private func forRange(
        of table: String, _ start: StoredKey, _ db: Database, _ body: (Range) throws -> Void
    ) throws -> StoredKey? {
        let isOfPass = table == "subscriptions" ? "" : "pass_id = \(run.passID) AND"
        let statement = try db.cachedStatement(
            sql: """
                SELECT original_transaction_id, environment, bundle_id FROM \(table)
                WHERE \(isOfPass) (bundle_id, environment, original_transaction_id)
                    >= (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT))
                ORDER BY bundle_id, environment, original_transaction_id LIMIT 1 OFFSET ?
                """)
        var end: StoredKey?
        let rows = try Row.fetchCursor(
            statement, arguments: start.arguments + [StoreLimits.rowsPerChunk])
        if let row = try rows.next() { end = try StoredKey(row) }
        try body((start, end))
        return end
    }

    /// The condition on a table's key, and what to bind to it.
    private static func within(
        _ range: Range, _ table: String
    ) -> (sql: String, arguments: StatementArguments) {
        let key = "(\(table).bundle_id, \(table).environment, \(table).original_transaction_id)"
        let marks = "(CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT))"
        guard let end = range.end else { return ("\(key) >= \(marks)", range.start.arguments) }
        return (
            "\(key) >= \(marks) AND \(key) < \(marks)", range.start.arguments + end.arguments
        )
    }

    private static func keysAgree(_ left: String, _ right: String) -> String {
        ["bundle_id", "environment", "original_transaction_id"]
            .map { "\(left).\($0) = \(right).\($0)" }.joined(separator: " AND ")
    }

    /// Rows judged undecided, and accounts that Apple did not find, as the report lists them.
    private func listUndecided(_ range: Range, _ db: Database) throws {
        let (isWithin, arguments) = Self.within(range, "p")
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO trueup_run_undecided
                SELECT ?, p.bundle_id, p.environment, p.original_transaction_id, s.customer_id,
                    p.reason
                FROM trueup_pass_rows AS p
                LEFT JOIN subscriptions AS s ON \(Self.keysAgree("s", "p"))
                WHERE p.pass_id = ? AND \(isWithin)
                    AND p.verdict = \(VerdictCode.undecided.rawValue)
                """
        ).execute(arguments: [run.sequence, run.passID] + arguments)
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO trueup_run_not_found
                SELECT ?, p.bundle_id, p.environment, p.original_transaction_id, s.customer_id,
                    a.first_day, a.last_day, a.distinct_days,
                    CASE WHEN typeof(s.status) = 'integer' THEN s.status END,
                    CASE WHEN typeof(s.signed_date) = 'integer' THEN s.signed_date END,
                    (SELECT l.evidence FROM trueup_ledger AS l WHERE \(Self.keysAgree("l", "p"))
                        ORDER BY l.apple_signed_date DESC, l.entry DESC LIMIT 1)
                FROM trueup_pass_rows AS p
                JOIN trueup_absences AS a ON \(Self.keysAgree("a", "p"))
                LEFT JOIN subscriptions AS s ON \(Self.keysAgree("s", "p"))
                WHERE p.pass_id = ? AND \(isWithin) AND p.is_absent = 1
                """
        ).execute(arguments: [run.sequence, run.passID] + arguments)
    }

    /// Rows that the run had to leave when it ended; the next run of the pass asks them.
    private func listUnreached(_ range: Range, _ scope: String, _ db: Database) throws {
        let (isWithin, arguments) = Self.within(range, "q")
        let isOfPass = scope == "subscriptions" ? "" : "q.pass_id = \(run.passID) AND"
        try db.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO trueup_run_undecided
                SELECT ?, s.bundle_id, s.environment, s.original_transaction_id, s.customer_id,
                    '\(UndecidedReason.deadline.rawValue)'
                FROM \(scope) AS q JOIN subscriptions AS s ON \(Self.keysAgree("s", "q"))
                WHERE \(isOfPass) \(isWithin) AND NOT \(ScopedRows.isSettled)
                """
        ).execute(arguments: [run.sequence] + arguments + [run.passID])
    }

    /// Where the next reading of a history begins, once nothing that this one showed is left
    /// unwritten or undecided: else the next run would no longer see it.
    private func promoteRevisions(_ range: Range, _ db: Database) throws {
        let (isWithin, arguments) = Self.within(range, "r")
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO trueup_history_revisions
                SELECT r.bundle_id, r.environment, r.original_transaction_id, r.revision
                FROM trueup_pass_revisions AS r
                WHERE r.pass_id = ? AND \(isWithin)
                    AND NOT EXISTS (SELECT 1 FROM trueup_pass_corrections AS c
                        WHERE c.pass_id = r.pass_id AND \(Self.keysAgree("c", "r"))
                            AND c.superseded_by IS NULL AND c.fate <> 'applied')
                    AND NOT EXISTS (SELECT 1 FROM trueup_pass_rows AS p
                        WHERE p.pass_id = r.pass_id AND \(Self.keysAgree("p", "r"))
                            AND p.verdict = \(VerdictCode.undecided.rawValue))
                """
        ).execute(arguments: [run.passID] + arguments)
    }
}
