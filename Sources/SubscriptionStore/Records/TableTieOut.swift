import GRDB
import Subscriptions

/// Counts the rows of the table by what a run that ends did with them, so that its numbers add up
/// to the table.
struct TableTieOut {
    let db: Database
    let run: RunReference
    let filters: [String]

    /// Of the run's apps: rows `s` that the table holds.
    private var isOfRun: String {
        """
        EXISTS (SELECT 1 FROM (SELECT ?1 AS narrowing) AS w
            WHERE \(OpenFindings.isOfAnApp(filters: "w.narrowing", of: "s")))
        """
    }

    private static func isRow(_ table: String) -> String {
        ["bundle_id", "environment", "original_transaction_id"]
            .map { "\(table).\($0) = s.\($0)" }.joined(separator: " AND ")
    }

    /// - Parameter inScope: The rows with a verdict.
    /// - Returns: Numbers of one moment.
    /// - Throws: What reading the database throws.
    func count(inScope: Int) throws -> RunCoverage.TableCount {
        // A run that is for some apps checks no row of another.
        let apps = RunHeader.isForAppsAlone(filters) ? TextList.encode(filters) : ""
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
                            JOIN trueup_rounds AS o ON o.job = w.job
                            JOIN trueup_checks AS k ON \(Self.isRow("k"))
                                AND k.asked_at >= o.began
                            WHERE w.pass_id = ?2 AND w.covers_every_row = 1
                                AND w.mode = 'apply' AND w.narrowing = ''
                                AND o.began < w.began)), 0)
                FROM subscriptions AS s
                LEFT JOIN trueup_pass_rows AS p ON p.pass_id = ?2 AND \(Self.isRow("p"))
                LEFT JOIN trueup_run_undecided AS u ON u.run_seq = ?3 AND \(Self.isRow("u"))
                WHERE \(isOfRun)
                """, arguments: [apps, run.passID, run.sequence])
        let rows = row?.number(at: 0) ?? 0
        let held = row?.number(at: 1) ?? 0
        let inserted = row?.number(at: 2) ?? 0
        let before = row?.number(at: 3) ?? 0
        return RunCoverage.TableCount(
            rows: rows, notAsked: rows &- held &- inserted &- before, judgedBefore: before,
            inserted: inserted, gone: inScope &- held)
    }
}
