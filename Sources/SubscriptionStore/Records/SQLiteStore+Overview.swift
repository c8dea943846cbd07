import GRDB
package import Subscriptions

extension SQLiteStore {
    /// What `trueup status` shows.
    ///
    /// - Parameters:
    ///   - limit: How many runs to list, newest first.
    ///   - now: When; acknowledgements that have ended by then are not listed.
    /// - Returns: One consistent view of the database.
    /// - Throws: `StoreError` when it cannot be read.
    package func overview(
        runs limit: Int, at now: Timestamp = Timestamp(unixMilliseconds: .min)
    ) throws(StoreError) -> StoreOverview {
        do {
            return try stream("reading the overview") { db in
                var overview = StoreOverview(
                    subscriptions: try Int.fetchOne(
                        db, sql: "SELECT count(*) FROM subscriptions") ?? 0,
                    notYetKnown: try Int.fetchOne(
                        db, sql: "SELECT count(*) FROM subscriptions WHERE status IS NULL") ?? 0,
                    runs: try listRuns("ORDER BY run_seq DESC LIMIT ?", [limit], db),
                    lastCompletePass: try Self.lastCompletePass(db),
                    watermarks: try Self.watermarks(db),
                    openFindings: try Self.openFindings(at: now, db))
                overview.completePasses = try Self.completePasses(db)
                overview.judgedRows =
                    try Int.fetchOne(db, sql: "SELECT count(*) FROM trueup_checks") ?? 0
                overview.oldestCheck = try SweepOrder.oldestCheck(db)
                let owed =
                    try Int.fetchOne(db, sql: "SELECT count(*) FROM trueup_agenda") ?? 0
                overview.checkedByStoppedRuns = try Self.checkedByStoppedRuns(db)
                overview.owed = owed - overview.checkedByStoppedRuns
                overview.outbox = try OutboxTotals(db, at: now)
                overview.bookkeeping = try BookkeepingCount.all(db)
                overview.acknowledged = try Acknowledgements(db: db).all(at: now)
                return overview
            }
        } catch {
            throw StoreError(error, doing: "reading the overview")
        }
    }

    /// Lines of the agenda about rows that a stopped run has checked: the next run of its job goes on
    /// with them and asks nothing.
    private static func checkedByStoppedRuns(_ db: Database) throws -> Int {
        try Int.fetchOne(
            db,
            sql: """
                SELECT count(*) FROM trueup_agenda AS a WHERE EXISTS (
                    SELECT 1 FROM trueup_passes AS w
                    CROSS JOIN trueup_pass_rows AS p ON p.pass_id = w.pass_id
                        AND p.bundle_id = a.bundle_id AND p.environment = a.environment
                        AND p.original_transaction_id = a.original_transaction_id
                    WHERE w.state = 'open' AND w.mode = 'apply' AND w.narrowing = ''
                        AND p.verdict IN (\(VerdictCode.match.rawValue),
                            \(VerdictCode.discrepancy.rawValue)))
                """) ?? 0
    }

    /// The runs that a name may mean: the one that is called so, or else all whose names begin or end
    /// with it.
    ///
    /// - Parameter name: A whole id, its beginning, or its last part.
    /// - Returns: At most three, newest first; more would only be listed.
    /// - Throws: `StoreError` when it cannot be read.
    package func runIDs(named name: String) throws(StoreError) -> [String] {
        do {
            return try stream("looking for a run") { db in
                let exact = try String.fetchAll(
                    db, sql: "SELECT run_id FROM trueup_runs WHERE run_id = ?", arguments: [name])
                guard exact.isEmpty, name.count >= 4 else { return exact }
                return try String.fetchAll(
                    db,
                    sql: """
                        SELECT run_id FROM trueup_runs
                        WHERE substr(run_id, 1, length(?1)) = ?1
                            OR substr(run_id, -length(?1)) = ?1
                        ORDER BY run_seq DESC LIMIT 3
                        """, arguments: [name])
            }
        } catch {
            throw StoreError(error, doing: "looking for a run")
        }
    }

    /// When a run like this one last ended with everything judged: of the same job, over all apps, or
    /// for the same ones.
    ///
    /// - Parameters:
    ///   - run: One that leaves out nothing of its apps; a check by hand is no night of a job that
    ///     writes.
    ///   - mayBeEmpty: Whether a run counts that had no row to judge, as of a job without a walk.
    /// - Returns: `nil` before the first.
    /// - Throws: `StoreError` when it cannot be read.
    package func lastSuccess(
        like run: RunHeader, mayBeEmpty: Bool
    ) async throws(StoreError) -> Timestamp? {
        try await read("looking for the last success") { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT max(ended) FROM trueup_runs
                    WHERE job = ? AND mode = ? AND narrowing IN ('', ?)
                        AND (exit_status IN ('\(ExitStatus.ok.rawValue)',
                                '\(ExitStatus.findings.rawValue)')
                            OR ? AND exit_status = '\(ExitStatus.empty.rawValue)')
                    """,
                arguments: [
                    run.job, run.mode.rawValue, TextList.encode(run.narrowing), mayBeEmpty,
                ]
            ).map(Timestamp.init(unixMilliseconds:))
        }
    }

    /// The runs that began in a span of time, oldest first.
    package func runs(
        from first: Timestamp, before end: Timestamp
    ) throws(StoreError) -> [RunListing] {
        do {
            return try stream("looking for runs") { db in
                try listRuns(
                    "WHERE started >= ? AND started < ? ORDER BY run_seq",
                    [first.unixMilliseconds, end.unixMilliseconds], db)
            }
        } catch {
            throw StoreError(error, doing: "looking for runs")
        }
    }

    /// A run whose report is still awaited has not ended: it writes it, or was killed.
    private func listRuns(
        _ condition: String, _ arguments: StatementArguments, _ db: Database
    ) throws -> [RunListing] {
        let isAtEnd = """
            (exit_status = '\(ReportedEntries.endWithoutReport.rawValue)'
                OR run_id NOT IN (SELECT run_id FROM trueup_awaited_reports))
            """
        return try Row.fetchAll(
            db,
            sql: """
                SELECT run_id, job, mode, started, iif(\(isAtEnd), ended, NULL),
                    iif(\(isAtEnd), exit_status, NULL), run_seq
                FROM trueup_runs \(condition)
                """,
            arguments: arguments
        ).map { row in
            RunListing(
                runID: row.requiredText(at: 0), job: row.requiredText(at: 1),
                mode: RunMode(rawValue: row.requiredText(at: 2)) ?? .check,
                started: row.time(at: 3) ?? Timestamp(unixMilliseconds: 0), ended: row.time(at: 4),
                exitStatus: row.text(at: 5).flatMap(ExitStatus.init(rawValue:)),
                totals: try RunSummaryReader.totals(of: row.integer(at: 6) ?? 0, db))
        }
    }

    /// What is not mended, nor acknowledged: an acknowledgement ends with its day, also before the next
    /// run says what the finding is then called.
    private static func openFindings(at now: Timestamp, _ db: Database) throws -> [FindingCount] {
        try FindingCount.read(
            db,
            sql: """
                SELECT kind, severity, iif(state = 'acknowledged', 'open', state) AS standing,
                    count(*)
                FROM trueup_findings AS h
                WHERE state IN ('new', 'open', 'recurring') OR (state = 'acknowledged'
                    AND NOT EXISTS (SELECT 1 FROM trueup_decisions AS d
                        WHERE d.finding_id = h.finding_id AND \(Acknowledgements.isStanding)))
                GROUP BY kind, severity, standing
                """, arguments: [now.unixMilliseconds])
    }

    private static func lastCompletePass(_ db: Database) throws -> Timestamp? {
        try Int64.fetchOne(
            db,
            sql: """
                SELECT max(p.began) FROM trueup_passes AS p
                JOIN trueup_runs AS r ON r.pass_id = p.pass_id AND r.closes_pass = 1
                WHERE (p.covers_every_row = 1 OR p.scheduled_rows IS NOT NULL) AND p.narrowing = ''
                """
        ).map(Timestamp.init(unixMilliseconds:))
    }

    /// When the newest complete pass over each app began: over all apps, or for some alone.
    private static func completePasses(_ db: Database) throws -> [AppIdentity: Timestamp] {
        var passes: [AppIdentity: Timestamp] = [:]
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT r.apps, p.narrowing, max(p.began) FROM trueup_passes AS p
                JOIN trueup_runs AS r ON r.pass_id = p.pass_id AND r.closes_pass = 1
                WHERE p.covers_every_row = 1 OR p.scheduled_rows IS NOT NULL
                GROUP BY r.apps, p.narrowing
                """)
        while let row = try rows.next() {
            let narrowing = TextList.decode(row.requiredText(at: 1))
            guard narrowing.isEmpty || RunHeader.isForAppsAlone(narrowing),
                let began = row.time(at: 2)
            else { continue }
            for app in AppList.decode(row.requiredText(at: 0)) {
                passes[app] = max(began, passes[app] ?? began)
            }
        }
        return passes
    }

    private static func watermarks(_ db: Database) throws -> [AppIdentity: Timestamp] {
        var watermarks: [AppIdentity: Timestamp] = [:]
        let rows = try Row.fetchCursor(
            db, sql: "SELECT bundle_id, environment, read_through FROM trueup_watermarks")
        while let row = try rows.next() {
            guard let environment = AppStoreEnvironment(rawValue: row.requiredText(at: 1)) else {
                continue
            }
            let app = AppIdentity(bundleID: row.requiredText(at: 0), environment: environment)
            watermarks[app] = row.time(at: 2)
        }
        return watermarks
    }
}
