import GRDB
import Subscriptions

/// The plan of a pass in numbers, for the guards.
struct PlanCount {
    let db: Database
    let passID: Int64

    func totals() throws -> PlanTotals {
        var totals = RunTotals()
        var notFound = 0
        var doubtful = 0
        let verdicts = try Row.fetchCursor(
            db,
            sql: """
                SELECT verdict, ifnull(reason, ''), count(*), sum(is_absent), sum(is_doubtful)
                FROM trueup_pass_rows WHERE pass_id = ? GROUP BY verdict, reason
                """,
            arguments: [passID])
        while let row = try verdicts.next() {
            try totals.add(
                row.number(at: 2) ?? 0, code: row.integer(at: 0) ?? 0,
                reason: row.requiredText(at: 1))
            notFound += row.number(at: 3) ?? 0
            if row.integer(at: 0) == VerdictCode.discrepancy.rawValue {
                doubtful += row.number(at: 4) ?? 0
            }
        }
        let changes = try changes()
        totals.filled = changes.filled
        let failures = try Int.fetchOne(
            db,
            sql: """
                SELECT count(*) FROM trueup_pass_findings
                WHERE pass_id = ? AND superseded_by IS NULL AND is_carried = 0
                    AND kind = 'verification_failed'
                """,
            arguments: [passID])
        let rows = try Int.fetchOne(db, sql: "SELECT count(*) FROM subscriptions")
        let before = try Int.fetchOne(
            db, sql: "SELECT rows FROM trueup_table_sizes ORDER BY run_seq DESC LIMIT 1")
        var plan = PlanTotals(
            totals: totals, changes: changes.subscriptions, notFound: notFound,
            verificationFailures: failures ?? 0, tableRows: rows ?? 0,
            tableRowsBefore: before)
        plan.doubtful = doubtful
        plan.inFlightByOurselves = try inFlightByOurselves()
        plan.lastRun = try lastRun()
        let scheduled = try scheduledRows()
        if let scheduled {
            plan.tableCoverage = scheduled
        } else if try asksOnlyWhatIsOwed() {
            plan.tableCoverage = plan.tableRows
        } else if let earlier = try rowsOfRoundBefore() {
            plan.tableCoverage = totals.inScope &+ earlier
        }
        plan.routine = try scheduled.map { _ in try routine() }
        return plan
    }

    /// Subscriptions that the plan changes, and those of them that it only fills.
    ///
    /// The second are counted as the run's summary counts them (`RunSummaryReader`): of updates none mends a finding.
    private func changes() throws -> (subscriptions: Int, filled: Int) {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT count(*), ifnull(sum(mends = 0), 0) FROM (
                    SELECT max(CASE WHEN target IN ('update', 'update_period') AND undo_of IS NULL
                        THEN kinds <> '' END) AS mends
                    FROM trueup_pass_corrections
                    WHERE pass_id = ? AND superseded_by IS NULL
                        AND fate IN ('planned', 'applied')
                    GROUP BY bundle_id, environment, original_transaction_id)
                """,
            arguments: [passID])
        return (row?.number(at: 0) ?? 0, row?.number(at: 1) ?? 0)
    }

    /// Rows in the table, or of the apps that a run is for alone, of which only the due ones were asked
    /// about.
    ///
    /// `nil` for a run that asks about every row, and for one that is narrowed otherwise, which leaves
    /// out also rows that are due.
    private func scheduledRows() throws -> Int? {
        let pass = try Row.fetchOne(
            db,
            sql: """
                SELECT scheduled_rows, narrowing FROM trueup_passes
                WHERE pass_id = ? AND scheduled_rows IS NOT NULL
                """,
            arguments: [passID])
        guard let pass else { return nil }
        let narrowing = TextList.decode(pass.requiredText(at: 1))
        return narrowing.isEmpty || RunHeader.isForAppsAlone(narrowing) ? pass.number(at: 0) : nil
    }

    /// Whether the pass asks about rows of the whole table, but not about every one: as a job does
    /// that only reads notifications.
    private func asksOnlyWhatIsOwed() throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                SELECT narrowing = '' AND covers_every_row = 0 FROM trueup_passes
                WHERE pass_id = ?
                """,
            arguments: [passID]) ?? false
    }

    /// Rows that earlier runs of the round have judged and this pass has not; `nil` where the pass goes
    /// on with no round.
    func rowsOfRoundBefore() throws -> Int? {
        try Int.fetchOne(
            db,
            sql: """
                SELECT (SELECT count(*) FROM subscriptions AS s
                    JOIN trueup_checks AS k ON k.bundle_id = s.bundle_id
                        AND k.environment = s.environment
                        AND k.original_transaction_id = s.original_transaction_id
                        AND k.asked_at >= o.began
                    WHERE NOT \(PassStaging.isSettled))
                FROM trueup_passes AS w JOIN trueup_rounds AS o ON o.job = w.job
                WHERE w.pass_id = ? AND w.covers_every_row = 1 AND w.mode = 'apply'
                    AND w.narrowing = '' AND o.began < w.began
                """,
            arguments: [passID, passID])
    }

    func routine() throws -> RoutineRows {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT count(*), ifnull(sum(EXISTS (
                    SELECT 1 FROM trueup_pass_corrections AS c WHERE c.pass_id = p.pass_id
                        AND c.bundle_id = p.bundle_id AND c.environment = p.environment
                        AND c.original_transaction_id = p.original_transaction_id
                        AND c.superseded_by IS NULL AND c.fate IN ('planned', 'applied'))), 0)
                FROM trueup_pass_rows AS p
                WHERE p.pass_id = ? AND p.asked_because IN (\(Self.routineReasons))
                    AND p.verdict IN (\(VerdictCode.match.rawValue),
                        \(VerdictCode.discrepancy.rawValue))
                """,
            arguments: [passID])
        return RoutineRows(judged: row?.number(at: 0) ?? 0, changed: row?.number(at: 1) ?? 0)
    }

    private static let routineReasons = QuestionReason.allCases.filter(\.isRoutine)
        .map { String($0.rank) }.joined(separator: ", ")

    /// Rows in flight whose `signed_date` is what a correction of ours wrote.
    private func inFlightByOurselves() throws -> Int {
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

    /// What the last complete run of the same job tied out to: for the same apps, where the pass is
    /// for some apps alone.
    private func lastRun() throws -> RunTotals? {
        let narrowing =
            try String.fetchOne(
                db, sql: "SELECT narrowing FROM trueup_passes WHERE pass_id = ?",
                arguments: [passID]) ?? ""
        let isForAppsAlone = RunHeader.isForAppsAlone(TextList.decode(narrowing))
        let sequence = try Int64.fetchOne(
            db,
            sql: """
                SELECT r.run_seq FROM trueup_runs AS r
                JOIN trueup_passes AS p ON p.pass_id = ? AND p.job = r.job
                WHERE r.closes_pass = 1 AND r.narrowing = ? AND r.pass_id <> p.pass_id
                ORDER BY r.run_seq DESC LIMIT 1
                """,
            arguments: [passID, isForAppsAlone ? narrowing : ""])
        return try sequence.map { try RunSummaryReader.totals(of: $0, db) }
    }
}
