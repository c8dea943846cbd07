import GRDB
package import Subscriptions

extension SQLiteStore {
    package func planTotals(of pass: OpenPass) async throws(StoreError) -> PlanTotals {
        try await read("counting the plan") { db in
            var totals = RunTotals()
            var notFound = 0
            let verdicts = try Row.fetchCursor(
                db,
                sql: """
                    SELECT verdict, ifnull(reason, ''), count(*), sum(is_absent)
                    FROM trueup_pass_rows WHERE pass_id = ? GROUP BY verdict, reason
                    """,
                arguments: [pass.passID])
            while let row = try verdicts.next() {
                try totals.add(
                    row.number(at: 2) ?? 0, code: row.integer(at: 0) ?? 0,
                    reason: row.requiredText(at: 1))
                notFound += row.number(at: 3) ?? 0
            }
            let changes = try Int.fetchOne(
                db,
                sql: """
                    SELECT count(*) FROM (
                        SELECT DISTINCT bundle_id, environment, original_transaction_id
                        FROM trueup_pass_corrections
                        WHERE pass_id = ? AND superseded_by IS NULL
                            AND fate IN ('planned', 'applied'))
                    """,
                arguments: [pass.passID])
            let failures = try Int.fetchOne(
                db,
                sql: """
                    SELECT count(*) FROM trueup_pass_findings
                    WHERE pass_id = ? AND superseded_by IS NULL AND kind = 'verification_failed'
                    """,
                arguments: [pass.passID])
            let rows = try Int.fetchOne(db, sql: "SELECT count(*) FROM subscriptions")
            let before = try Int.fetchOne(
                db, sql: "SELECT rows FROM trueup_table_sizes ORDER BY run_seq DESC LIMIT 1")
            return PlanTotals(
                totals: totals, changes: changes ?? 0, notFound: notFound,
                verificationFailures: failures ?? 0, tableRows: rows ?? 0,
                tableRowsBefore: before)
        }
    }

    package func unresolvedFindings(
        of pass: OpenPass
    ) async throws(StoreError) -> [Severity: Int] {
        try await read("counting unresolved findings") { db in
            var counts: [Severity: Int] = [:]
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT f.severity, count(*) FROM trueup_pass_findings AS f
                    LEFT JOIN trueup_pass_corrections AS c ON c.correction_id = f.correction_id
                    WHERE f.pass_id = ? AND f.superseded_by IS NULL
                        AND f.action NOT IN ('corrected', 'inserted', 'recovered')
                        AND ifnull(c.fate, '') <> 'applied'
                    GROUP BY f.severity
                    """,
                arguments: [pass.passID])
            while let row = try rows.next() {
                guard let severity = Severity(rawValue: row.requiredText(at: 0)) else { continue }
                counts[severity] = row.number(at: 1)
            }
            return counts
        }
    }
}
