import GRDB
import Subscriptions

/// Counts the stored subscriptions and one-time purchases by what a run that ends did with them, so
/// that its numbers add up to the tables.
extension RunConclusionWriter {
    /// Of the run's apps: rows `s` that the table holds.
    private static let isOfRun = OpenFindings.isOfAnApp(boundFilters: "?1", of: "s")

    private static func isRow(_ table: String) -> String { SubscriptionKey.agree(table, "s") }

    /// The filters of a run that is for some apps: it checks no row of another.
    private var appFilters: String {
        RunHeader.isForAppsAlone(header.filters) ? TextList.encode(header.filters) : ""
    }

    /// Counts the subscriptions.
    ///
    /// - Parameters:
    ///   - inScope: The rows with a verdict.
    ///   - db: The database.
    /// - Returns: Numbers of one moment.
    /// - Throws: What reading the database throws.
    func countRows(inScope: Int, _ db: Database) throws -> RunCoverage.TableCount {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT count(*), ifnull(sum(u.run_seq IS NOT NULL
                        OR ifnull(p.verdict BETWEEN \(VerdictCode.match.rawValue)
                            AND \(VerdictCode.excluded.rawValue), 0)), 0),
                    ifnull(sum(u.run_seq IS NULL
                        AND p.verdict IS \(VerdictCode.inserted.rawValue)), 0),
                    ifnull(sum(u.run_seq IS NULL AND NOT ifnull(p.verdict
                            BETWEEN \(VerdictCode.match.rawValue)
                                AND \(VerdictCode.inserted.rawValue), 0)
                        AND EXISTS (SELECT 1 FROM trueup_passes AS w
                            JOIN trueup_rounds AS o ON o.job = \(PassOpening.roundOfCheckpoint)
                            JOIN trueup_checks AS k ON \(Self.isRow("k"))
                                AND k.asked_at >= o.began
                            WHERE w.pass_id = ?2 AND w.covers_every_row = 1
                                AND w.mode = 'apply'
                                AND o.began < w.began)), 0)
                FROM subscriptions AS s
                LEFT JOIN trueup_pass_rows AS p ON p.pass_id = ?2 AND \(Self.isRow("p"))
                LEFT JOIN trueup_run_undecided AS u ON u.run_seq = ?3 AND \(Self.isRow("u"))
                WHERE \(Self.isOfRun)
                """, arguments: [appFilters, run.passID, run.sequence])
        let rows = row?.number(at: 0) ?? 0
        let held = row?.number(at: 1) ?? 0
        let inserted = row?.number(at: 2) ?? 0
        let before = row?.number(at: 3) ?? 0
        return RunCoverage.TableCount(
            rows: rows, notAsked: rows &- held &- inserted &- before, judgedBefore: before,
            inserted: inserted, gone: inScope &- held)
    }

    /// A purchase that was corrected differed, whatever a later answer of the checkpoint showed.
    private static let judged = """
        judged (bundle_id, environment, transaction_id, verdict, target) AS (
            SELECT p.bundle_id, p.environment, p.transaction_id,
                CASE WHEN c.target IS NULL THEN p.verdict
                    ELSE \(JudgedPurchase.Verdict.discrepancy.rawValue) END, c.target
            FROM trueup_pass_purchases AS p
            LEFT JOIN (
                SELECT bundle_id, environment, transaction_id, min(target) AS target
                FROM trueup_pass_corrections
                WHERE pass_id = ?2 AND fate = 'applied'
                    AND target IN ('purchase', 'update_purchase')
                GROUP BY bundle_id, environment, transaction_id) AS c
                ON c.bundle_id = p.bundle_id AND c.environment = p.environment
                    AND c.transaction_id = p.transaction_id
            WHERE p.pass_id = ?2)
        """

    /// Counts the one-time purchases.
    ///
    /// - Parameter db: The database.
    /// - Returns: Numbers of one moment; `nil` where no purchase is stored and none was compared.
    /// - Throws: What reading the database throws.
    func countPurchases(_ db: Database) throws -> PurchaseTotals? {
        let row = try Row.fetchOne(
            db,
            sql: """
                WITH \(Self.judged)
                SELECT count(*), \(Self.sum("j.verdict", .match)),
                    \(Self.sum("j.verdict", .discrepancy)), \(Self.sum("j.verdict", .undecided)),
                    ifnull(sum(j.target IS NOT NULL), 0), ifnull(sum(j.target IS 'purchase'), 0),
                    (SELECT count(*) FROM judged AS m
                        WHERE m.verdict = \(JudgedPurchase.Verdict.discrepancy.rawValue)
                            AND NOT EXISTS (SELECT 1 FROM purchases AS t
                                WHERE t.bundle_id = m.bundle_id AND t.environment = m.environment
                                    AND t.transaction_id = m.transaction_id))
                FROM purchases AS s
                LEFT JOIN judged AS j ON j.bundle_id = s.bundle_id
                    AND j.environment = s.environment AND j.transaction_id = s.transaction_id
                WHERE \(Self.isOfRun)
                """, arguments: [appFilters, run.passID])
        func number(_ index: Int) -> Int { row?.number(at: index) ?? 0 }
        let totals = PurchaseTotals(
            stored: number(0), matched: number(1), discrepant: number(2), undecided: number(3),
            corrected: number(4), inserted: number(5), missing: number(6))
        return totals == PurchaseTotals(stored: 0) ? nil : totals
    }

    private static func sum(_ column: String, _ verdict: JudgedPurchase.Verdict) -> String {
        "ifnull(sum(\(column) IS \(verdict.rawValue)), 0)"
    }
}

extension JudgedPurchase {
    /// Notes the verdict in a checkpoint; a later one takes its place.
    func note(inPass passID: Int64, _ db: Database) throws {
        try db.executeCached(
            "INSERT OR REPLACE INTO trueup_pass_purchases VALUES (?, ?, ?, ?, ?)",
            [passID] + key.arguments + [verdict.rawValue])
    }
}

extension PlanCount {
    /// Counts the one-time purchases of the checkpoint's apps, and those that the plan changes.
    ///
    /// A partial run counts those that it compared. One that applies the plan of another run has
    /// compared none, so it counts the stored ones as well.
    func countPurchases(in plan: inout PlanTotals) throws {
        plan.purchaseChanges = try db.count(
            """
            SELECT count(*) FROM (
                SELECT DISTINCT bundle_id, environment, original_transaction_id
                FROM trueup_pass_corrections
                WHERE pass_id = ? AND superseded_by IS NULL
                    AND fate IN ('planned', 'applied')
                    AND target IN ('purchase', 'update_purchase', 'delete_purchase'))
            """, [passID])
        guard plan.purchaseChanges > 0 else { return }
        let narrowing = try String.fetchOne(
            db, sql: "SELECT narrowing FROM trueup_passes WHERE pass_id = ?", arguments: [passID])
        let filters = TextList.decode(narrowing ?? "")
        let countsStored =
            try filters.isEmpty || RunHeader.isForAppsAlone(filters)
            || db.holds("trueup_applications WHERE pass_id = ?", [passID])
        let apps = filters.filter { $0.hasPrefix(RunHeader.appFilterPrefix) }
        plan.purchases =
            countsStored
            ? try db.count(
                """
                SELECT count(*) FROM purchases AS s
                WHERE \(OpenFindings.isOfAnApp(boundFilters: "?1", of: "s"))
                """, [TextList.encode(apps)])
            : try db.count("SELECT count(*) FROM trueup_pass_purchases WHERE pass_id = ?", [passID])
    }
}
