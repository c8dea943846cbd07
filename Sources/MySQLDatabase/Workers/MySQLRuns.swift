package import ServerConnections
package import Subscriptions

/// The runs of all workers, in `trueup_runs`.
package final class MySQLRuns: RunTable {
    private let session: SharedSession<MySQLLink>

    package init(_ session: SharedSession<MySQLLink>) { self.session = session }

    package func prepare() throws(StoreError) {
        try session.withLink { link throws(StoreError) in try link.makeOurTables() }
    }

    package func mayBeUsed() throws(StoreError) -> Bool {
        try session.withLink { link throws(StoreError) in try link.mayUse([OurTable.runs]) }
    }

    package func keep(_ run: WorkerRun) throws(StoreError) {
        try perform("noting a run for all workers", Self.upsert, Self.values(of: run))
    }

    package func forget(of books: String, before time: Timestamp) throws(StoreError) {
        try perform(
            "forgetting runs",
            "DELETE FROM \(OurTable.runs.name) WHERE books = ? AND started < \(OurTable.time)",
            [.text(books), .integer(time.unixMilliseconds)])
    }

    package func runs(
        from first: Timestamp, before end: Timestamp
    ) throws(StoreError) -> [WorkerRun] {
        try read(
            """
            \(Self.selection) FROM \(OurTable.runs.name)
            WHERE started >= \(OurTable.time) AND started < \(OurTable.time)
            ORDER BY started, books, run_id
            """, [.integer(first.unixMilliseconds), .integer(end.unixMilliseconds)])
    }

    package func lastRuns(limit: Int) throws(StoreError) -> [WorkerRun] {
        try read(
            """
            \(Self.selection) FROM (
                SELECT r.*, ROW_NUMBER() OVER (
                    PARTITION BY books, job, MD5(apps) ORDER BY started DESC) AS place
                FROM \(OurTable.runs.name) AS r) AS last
            WHERE place = 1 ORDER BY started DESC, books, run_id LIMIT ?
            """, [.integer(Int64(limit))])
    }

    private func perform(
        _ doing: String, _ sql: String, _ values: [CompanyLiteral]
    ) throws(StoreError) {
        try session.withLink { link throws(StoreError) in
            try link.perform(doing) { session throws(MySQLFailure) in
                _ = try session.run(sql, values)
            }
        }
    }

    private func read(
        _ sql: String, _ values: [CompanyLiteral]
    ) throws(StoreError) -> [WorkerRun] {
        try session.withLink { link throws(StoreError) in
            try link.perform("reading the runs of all workers") { session throws(MySQLFailure) in
                do throws(MySQLFailure) {
                    return try session.run(sql, values).rows.compactMap(WorkerRunText.run)
                } catch {
                    guard OurTable.isMissing(error) || error.meaning == .forbidden else {
                        throw error
                    }
                    return []
                }
            }
        }
    }
}

extension MySQLRuns {
    /// In the order in which `WorkerRunText.run` takes them.
    private static let selection = """
        SELECT books, run_id, worker, apps, job, mode, \(OurTable.milliseconds("started")),
            \(OurTable.milliseconds("ended")), outcome, headline, report, CAST(matched AS CHAR),
            CAST(discrepant AS CHAR), CAST(filled AS CHAR), undecided, excluded,
            CAST(corrected AS CHAR), CAST(findings_open AS CHAR), CAST(findings_new AS CHAR), money
        """

    private static let upsert: String = {
        let marks = WorkerRunText.columns.map { column in
            ["started", "ended"].contains(column) ? OurTable.time : "?"
        }
        let replaced = WorkerRunText.replaced.map { "\($0) = VALUES(\($0))" }
        return """
            INSERT INTO \(OurTable.runs.name) (\(WorkerRunText.columns.joined(separator: ", ")))
            VALUES (\(marks.joined(separator: ", ")))
            ON DUPLICATE KEY UPDATE \(replaced.joined(separator: ", "))
            """
    }()

    private static func values(of run: WorkerRun) -> [CompanyLiteral] {
        WorkerRunText.values(of: run) { counts in
            counts.map { "\($0.name) \($0.count)" }.sorted().joined(separator: "\n")
        } money: { totals in
            totals.map {
                "\($0.direction.rawValue) \($0.amount) \($0.findings) \($0.currency)"
            }.joined(separator: "\n")
        }
    }
}
