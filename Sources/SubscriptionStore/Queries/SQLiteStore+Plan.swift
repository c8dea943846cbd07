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
            var plan = PlanTotals(
                totals: totals, changes: changes ?? 0, notFound: notFound,
                verificationFailures: failures ?? 0, tableRows: rows ?? 0,
                tableRowsBefore: before)
            plan.inFlightByOurselves = try Self.inFlightByOurselves(pass.passID, db)
            plan.lastRun = try Self.lastRun(before: pass.passID, db)
            return plan
        }
    }

    /// Rows in flight whose `signed_date` is what a correction of ours wrote.
    private static func inFlightByOurselves(_ passID: Int64, _ db: Database) throws -> Int {
        try Int.fetchOne(
            db,
            sql: """
                SELECT count(*) FROM trueup_pass_rows AS p
                JOIN subscriptions AS s ON s.bundle_id = p.bundle_id
                    AND s.environment = p.environment
                    AND s.original_transaction_id = p.original_transaction_id
                WHERE p.pass_id = ? AND p.verdict = \(VerdictCode.excluded.rawValue)
                    AND p.reason = '\(ExclusionReason.inFlight.rawValue)'
                    AND EXISTS (SELECT 1 FROM trueup_ledger AS l
                        WHERE l.bundle_id = p.bundle_id AND l.environment = p.environment
                            AND l.original_transaction_id = p.original_transaction_id
                            AND l.apple_signed_date = s.signed_date)
                """,
            arguments: [passID]) ?? 0
    }

    /// What the last complete run of the same job tied out to.
    private static func lastRun(before passID: Int64, _ db: Database) throws -> RunTotals? {
        let sequence = try Int64.fetchOne(
            db,
            sql: """
                SELECT r.run_seq FROM trueup_runs AS r
                JOIN trueup_passes AS p ON p.pass_id = ? AND p.job = r.job
                WHERE r.closes_pass = 1 AND r.narrowing = '' AND r.pass_id <> p.pass_id
                ORDER BY r.run_seq DESC LIMIT 1
                """,
            arguments: [passID])
        return try sequence.map { try RunSummaryReader.totals(of: $0, db) }
    }

    /// The severities of unresolved findings that somebody has acknowledged as they are.
    private static func acknowledgedSeverities(
        _ passID: Int64, _ db: Database
    ) throws -> [Severity] {
        let started = try Int64.fetchOne(
            db, sql: "SELECT started FROM trueup_runs WHERE pass_id = ? ORDER BY run_seq DESC",
            arguments: [passID])
        let now = Timestamp(unixMilliseconds: started ?? 0)
        return try Acknowledgements(db: db).standing(inPass: passID, at: now).compactMap {
            standing in
            try String.fetchOne(
                db,
                sql: """
                    SELECT f.severity FROM trueup_pass_findings AS f
                    LEFT JOIN trueup_pass_corrections AS c ON c.correction_id = f.correction_id
                    WHERE f.finding_seq = ?
                        AND f.action NOT IN ('corrected', 'inserted', 'recovered')
                        AND ifnull(c.fate, '') <> 'applied'
                    """,
                arguments: [standing.findingSequence]
            ).flatMap(Severity.init(rawValue:))
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
            for severity in try Self.acknowledgedSeverities(pass.passID, db) {
                counts[severity, default: 0] -= 1
            }
            return counts.filter { $0.value > 0 }
        }
    }
}
