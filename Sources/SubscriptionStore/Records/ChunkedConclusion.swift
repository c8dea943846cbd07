import GRDB
import Subscriptions

/// The part of a conclusion that may touch every row, one transaction per range of keys.
///
/// It only counts once the run has ended; if the run is killed before that, the next
/// `begin` deletes it.
struct ChunkedConclusion: Sendable {
    let run: RunReference
    let header: RunHeader
    let conclusion: RunConclusion

    struct Step: Sendable {
        /// The table whose rows it goes through; `nil` where it has one transaction.
        let table: String?
        /// Processes so many keys from `start` on; returns where the next chunk begins, `nil` at the
        /// end.
        let run: @Sendable (_ start: StoredKey, _ rows: Int, Database) throws -> StoredKey?
    }

    /// How many rows a step goes through.
    func rows(of step: Step, _ db: Database) throws -> Int {
        guard let table = step.table else { return 0 }
        let isOfPass = Self.unbound.contains(table) ? "" : "WHERE pass_id = \(run.passID)"
        return try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table) \(isOfPass)") ?? 0
    }

    var steps: [Step] {
        var steps = [step(through: "trueup_pass_rows", listUndecided)]
        if conclusion.settlesUnreached, header.missesWhatItLeaves {
            for scope in header.coversEveryRow ? ["subscriptions"] : Self.asked {
                steps.append(
                    step(through: scope) { start, rows, db in
                        try listUnreached(start, rows, scope, db)
                    })
            }
        }
        if header.worksOffAgenda {
            let update = AgendaUpdate(
                run: run, started: header.started, ended: conclusion.ended,
                acceptsTable: conclusion.acceptedTableRows != nil)
            steps.append(
                step(through: "trueup_pass_rows") { start, rows, db in
                    let source = chunk(of: "trueup_pass_rows", start, rows, as: "p")
                    try update.make(source.sql, source.arguments, db)
                })
            // Only now: the two rows of a pair may stand in different chunks.
            let overlaps = OverlapQuestions(run: run, started: header.started)
            steps.append(
                step(through: "trueup_pass_rows") { start, rows, db in
                    let source = chunk(of: "trueup_pass_rows", start, rows, as: "p")
                    try overlaps.askAboutNew(source.sql, source.arguments, db)
                })
            steps.append(
                Step(table: nil) { _, _, db in
                    try overlaps.askAboutEnded(db)
                    return nil
                })
        }
        if conclusion.closesPass, header.mode == .apply,
            header.leavesOutNothingOfItsApps
        {
            steps.append(step(through: "trueup_pass_revisions", promoteRevisions))
        }
        return steps
    }

    /// A step that goes through a table's rows in the order of their keys.
    private func step(
        through table: String,
        _ work: @escaping @Sendable (StoredKey, _ rows: Int, Database) throws -> Void
    ) -> Step {
        Step(table: table) { start, rows, db in
            try work(start, rows, db)
            return try key(after: start, rows, in: table, db)
        }
    }

    /// Where the rows stand that a run was to ask about that was not to ask about all of them.
    private static let asked = ["trueup_agenda", "trueup_pass_questions"]

    /// Tables whose rows belong to no pass.
    private static let unbound = ["subscriptions", "trueup_agenda"]

    /// A chunk of a table's rows from a key on, as a source to select from.
    ///
    /// A limit and not an upper bound: SQLite seeks by one bound on the whole key only.
    private func chunk(
        of table: String, _ start: StoredKey, _ rows: Int, as name: String
    ) -> (sql: String, arguments: StatementArguments) {
        let isOfPass = Self.unbound.contains(table) ? "" : "pass_id = \(run.passID) AND"
        let sql = """
            (SELECT * FROM \(table)
            WHERE \(isOfPass) (bundle_id, environment, original_transaction_id)
                >= \(start.marks)
            ORDER BY bundle_id, environment, original_transaction_id
            LIMIT ?) AS \(name)
            """
        return (sql, start.arguments + [rows])
    }

    /// Where the next chunk begins.
    private func key(
        after start: StoredKey, _ rows: Int, in table: String, _ db: Database
    ) throws -> StoredKey? {
        let isOfPass = Self.unbound.contains(table) ? "" : "pass_id = \(run.passID) AND"
        let statement = try db.cachedStatement(
            sql: """
                SELECT original_transaction_id, environment, bundle_id FROM \(table)
                WHERE \(isOfPass) (bundle_id, environment, original_transaction_id)
                    >= \(start.marks)
                ORDER BY bundle_id, environment, original_transaction_id
                LIMIT 1 OFFSET ?
                """)
        let next = try Row.fetchCursor(statement, arguments: start.arguments + [rows])
        return try next.next().map(StoredKey.init)
    }

    private static func keysAgree(_ left: String, _ right: String) -> String {
        ["bundle_id", "environment", "original_transaction_id"]
            .map { "\(left).\($0) = \(right).\($0)" }.joined(separator: " AND ")
    }

    /// Rows judged undecided, and accounts that Apple did not find, as the report lists them; and rows in
    /// flight, of which it has the number only.
    private func listUndecided(_ start: StoredKey, _ count: Int, _ db: Database) throws {
        let (rows, arguments) = chunk(of: "trueup_pass_rows", start, count, as: "p")
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO trueup_run_undecided
                SELECT ?, p.bundle_id, p.environment, p.original_transaction_id, s.customer_id,
                    p.reason
                FROM \(rows)
                LEFT JOIN subscriptions AS s ON \(Self.keysAgree("s", "p"))
                WHERE p.verdict = \(VerdictCode.undecided.rawValue)
                """
        ).execute(arguments: [run.sequence] + arguments)
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO trueup_run_in_flight
                SELECT ?, p.bundle_id, p.environment, p.original_transaction_id FROM \(rows)
                WHERE p.verdict = \(VerdictCode.excluded.rawValue)
                    AND p.reason = '\(ExclusionReason.inFlight.rawValue)'
                """
        ).execute(arguments: [run.sequence] + arguments)
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO trueup_run_not_found
                SELECT ?, p.bundle_id, p.environment, p.original_transaction_id, s.customer_id,
                    a.first_day, a.last_day, a.distinct_days,
                    CASE WHEN typeof(s.status) = 'integer' THEN s.status END,
                    CASE WHEN typeof(s.signed_date) = 'integer' THEN s.signed_date END,
                    (SELECT l.evidence FROM trueup_ledger AS l WHERE \(Self.keysAgree("l", "p"))
                        ORDER BY l.apple_signed_date DESC, l.entry DESC LIMIT 1)
                FROM \(rows)
                CROSS JOIN trueup_absences AS a ON \(Self.keysAgree("a", "p"))
                LEFT JOIN subscriptions AS s ON \(Self.keysAgree("s", "p"))
                WHERE p.is_absent = 1
                """
        ).execute(arguments: [run.sequence] + arguments)
    }

    /// Why an unreached row is undecided, by its app.
    private var reasonOfUnreached: (sql: String, arguments: StatementArguments) {
        let refused = conclusion.refusedApps.sorted()
        guard !refused.isEmpty else { return ("?", [conclusion.unreachedReason.rawValue]) }
        let apps = refused.map { _ in "(?, ?)" }.joined(separator: ", ")
        var arguments = StatementArguments()
        for app in refused { arguments += [app.bundleID, app.environment.rawValue] }
        arguments += [UndecidedReason.unavailable.rawValue, conclusion.unreachedReason.rawValue]
        return (
            "CASE WHEN (s.bundle_id, s.environment) IN (VALUES \(apps)) THEN ? ELSE ? END",
            arguments
        )
    }

    /// Rows not reached before the run ended; the next run of the pass asks about them.
    private func listUnreached(
        _ start: StoredKey, _ count: Int, _ scope: String, _ db: Database
    ) throws {
        let isTable = scope == "subscriptions"
        let (rows, arguments) = chunk(of: scope, start, count, as: isTable ? "s" : "q")
        let reason = reasonOfUnreached
        let join = "CROSS JOIN subscriptions AS s ON \(Self.keysAgree("s", "q"))"
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO trueup_run_undecided
                SELECT ?, s.bundle_id, s.environment, s.original_transaction_id, s.customer_id,
                    \(reason.sql)
                FROM \(rows) \(isTable ? "" : join)
                WHERE NOT \(PassStaging.isSettled) AND NOT \(PassStaging.isOfRound)
                    \(scope == "trueup_agenda" ? "AND \(AgendaLines.isForThisRun("q"))" : "")
                    AND EXISTS (SELECT 1 FROM (SELECT ? AS narrowing) AS w
                        WHERE \(FindingLook.isOfAnApp(narrowing: "w.narrowing", of: "s")))
                """
        ).execute(
            arguments: [run.sequence] + reason.arguments + arguments + [
                run.passID, run.passID, TextList.encode(header.narrowing),
            ])
    }

    /// Stores where the next history reading begins, unless something that this one showed is still
    /// unwritten or undecided: otherwise the next run would miss it.
    private func promoteRevisions(_ start: StoredKey, _ count: Int, _ db: Database) throws {
        let (rows, arguments) = chunk(of: "trueup_pass_revisions", start, count, as: "r")
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO trueup_history_revisions
                SELECT r.bundle_id, r.environment, r.original_transaction_id, r.revision,
                    r.periods, r.periods_sha256
                FROM \(rows)
                WHERE NOT EXISTS (SELECT 1 FROM trueup_pass_corrections AS c
                        WHERE c.pass_id = r.pass_id AND \(Self.keysAgree("c", "r"))
                            AND c.superseded_by IS NULL AND c.fate <> 'applied')
                    AND NOT EXISTS (SELECT 1 FROM trueup_pass_rows AS p
                        WHERE p.pass_id = r.pass_id AND \(Self.keysAgree("p", "r"))
                            AND p.verdict = \(VerdictCode.undecided.rawValue))
                """
        ).execute(arguments: arguments)
        let written = try Row.fetchAll(
            db,
            sql: """
                SELECT r.bundle_id, r.environment, r.original_transaction_id FROM \(rows)
                WHERE EXISTS (SELECT 1 FROM trueup_pass_corrections AS c
                    WHERE c.pass_id = r.pass_id AND \(Self.keysAgree("c", "r"))
                        AND c.target IN ('period', 'update_period') AND c.fate = 'applied')
                """,
            arguments: arguments)
        let agreed = AgreedPeriods(db: db, passID: run.passID)
        for row in written { try agreed.update(of: SubscriptionKey(row, at: 0)) }
    }
}
