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
                    runs: try listRuns(limit, db),
                    lastCompletePass: try Self.lastCompletePass(db),
                    watermarks: try Self.watermarks(db),
                    openFindings: try FindingCount.read(
                        db,
                        sql: """
                            SELECT kind, severity, state, count(*) FROM trueup_findings
                            WHERE state IN ('new', 'open', 'recurring')
                            GROUP BY kind, severity, state
                            """))
                overview.judgedRows =
                    try Int.fetchOne(db, sql: "SELECT count(*) FROM trueup_checks") ?? 0
                overview.oldestCheck = try SweepOrder.oldestCheck(db)
                overview.owed =
                    try Int.fetchOne(db, sql: "SELECT count(*) FROM trueup_agenda") ?? 0
                overview.outbox = try OutboxTotals(db)
                overview.bookkeeping = try BookkeepingCount.all(db)
                overview.acknowledged = try Acknowledgements(db: db).all(at: now)
                return overview
            }
        } catch {
            throw StoreError(error, doing: "reading the overview")
        }
    }

    private func listRuns(_ limit: Int, _ db: Database) throws -> [RunListing] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT run_id, job, mode, started, ended, exit_status, run_seq FROM trueup_runs
                ORDER BY run_seq DESC LIMIT ?
                """,
            arguments: [limit]
        ).map { row in
            RunListing(
                runID: row.requiredText(at: 0), job: row.requiredText(at: 1),
                mode: RunMode(rawValue: row.requiredText(at: 2)) ?? .check,
                started: row.time(at: 3) ?? Timestamp(unixMilliseconds: 0), ended: row.time(at: 4),
                exitStatus: row.text(at: 5).flatMap(ExitStatus.init(rawValue:)),
                totals: try RunSummaryReader.totals(of: row.integer(at: 6) ?? 0, db))
        }
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
