package import ServerConnections
package import Subscriptions

/// The runs of all workers, in `trueup.runs`.
package final class SharedRuns: RunTable {
    private let session: SharedSession<SessionKeeper>

    package init(_ session: SharedSession<SessionKeeper>) { self.session = session }

    package func prepare() throws(StoreError) {
        try session.withLink { keeper throws(StoreError) in try keeper.makeOurTables() }
    }

    package func mayBeUsed() throws(StoreError) -> Bool {
        try session.withLink { keeper throws(StoreError) in
            try keeper.mayUse("runs", for: ["SELECT", "INSERT", "UPDATE", "DELETE"])
        }
    }

    package func keep(_ run: WorkerRun) throws(StoreError) {
        try session.write("noting a run for all workers") { session throws(ServerFailure) in
            _ = try session.run(WorkerRunText.upsert, WorkerRunText.parameters(of: run))
        }
    }

    package func forget(of books: String, before time: Timestamp) throws(StoreError) {
        try session.write("forgetting runs") { session throws(ServerFailure) in
            _ = try session.run(
                "DELETE FROM trueup.runs WHERE books = $1 AND started < \(WorkerRunText.time("$2"))",
                [books, String(time.unixMilliseconds)])
        }
    }

    package func runs(
        from first: Timestamp, before end: Timestamp
    ) throws(StoreError) -> [WorkerRun] {
        try read(
            """
            SELECT \(WorkerRunText.columns) FROM trueup.runs AS r
            WHERE started >= \(WorkerRunText.time("$1")) AND started < \(WorkerRunText.time("$2"))
            ORDER BY started, books, run_id
            """, [String(first.unixMilliseconds), String(end.unixMilliseconds)])
    }

    package func lastRuns(limit: Int) throws(StoreError) -> [WorkerRun] {
        try read(
            """
            SELECT \(WorkerRunText.columns) FROM (
                SELECT DISTINCT ON (books, job, apps) * FROM trueup.runs
                ORDER BY books, job, apps, started DESC) AS r
            ORDER BY started DESC, books, run_id LIMIT $1
            """, [String(limit)])
    }

    private func read(_ sql: String, _ parameters: [String?]) throws(StoreError) -> [WorkerRun] {
        try session.withLink { keeper throws(StoreError) in
            guard try keeper.mayUse("runs", for: ["SELECT"]) else { return [] }
            let rows = try keeper.read("reading the runs of all workers") {
                session throws(ServerFailure) in
                try session.run(sql, parameters).rows
            }
            return rows.compactMap(WorkerRunText.run)
        }
    }
}

/// The statements for `trueup.runs`.
extension WorkerRunText {
    static func time(_ parameter: String) -> String {
        "to_timestamp(\(parameter)::bigint / 1000.0)"
    }

    private static func milliseconds(_ column: String) -> String {
        "(extract(epoch FROM \(column)) * 1000)::bigint"
    }

    static let upsert = """
        INSERT INTO trueup.runs (books, run_id, worker, apps, job, mode, started, ended, outcome,
            exit_status, headline, report, matched, discrepant, filled, undecided, excluded,
            corrected, findings_open, findings_new, money)
        VALUES ($1, $2, $3, $4, $5, $6, \(time("$7")), \(time("$8")), $9, $10, $11, $12, $13, $14,
            $15, $16, $17, $18, $19, $20, $21)
        ON CONFLICT (books, run_id) DO UPDATE SET worker = excluded.worker, apps = excluded.apps,
            ended = excluded.ended, outcome = excluded.outcome,
            exit_status = excluded.exit_status, headline = excluded.headline,
            report = excluded.report, matched = excluded.matched,
            discrepant = excluded.discrepant, filled = excluded.filled,
            undecided = excluded.undecided, excluded = excluded.excluded,
            corrected = excluded.corrected, findings_open = excluded.findings_open,
            findings_new = excluded.findings_new, money = excluded.money
        """

    static func parameters(of run: WorkerRun) -> [String?] {
        let listing = run.listing
        let totals = listing.totals
        return [
            run.books, listing.runID, run.worker, run.apps.joined(separator: " "), listing.job,
            listing.mode.rawValue, String(listing.started.unixMilliseconds),
            (listing.ended?.unixMilliseconds).map { String($0) }, listing.exitStatus?.rawValue,
            (listing.exitStatus?.code).map { String($0) }, run.headline, run.report,
            String(totals.matched), String(totals.discrepant), String(totals.filled),
            json(totals.undecided.map { ($0.key.rawValue, $0.value) }),
            json(totals.excluded.map { ($0.key.rawValue, $0.value) }),
            (run.figures?.corrected).map { String($0) }, (run.figures?.open).map { String($0) },
            (run.figures?.new).map { String($0) },
            run.figures.map { figures in
                CanonicalJSON.array(figures.money.map(json)).rendered
            },
        ]
    }

    private static func json(_ counts: [(String, Int)]) -> String {
        let members = counts.map { ($0.0, CanonicalJSON.integer(Int64($0.1))) }
        return CanonicalJSON.object(Dictionary(members) { first, _ in first }).rendered
    }

    private static func json(_ total: MoneyTotal) -> CanonicalJSON {
        .object([
            "amount_milliunits": .integer(total.amount), "currency": .string(total.currency),
            "direction": .string(total.direction.rawValue),
            "findings": .integer(Int64(total.findings)),
        ])
    }

    /// In the order in which `run` takes them.
    static let columns = """
        books, run_id, worker, apps, job, mode, \(milliseconds("started")),
            \(milliseconds("ended")), outcome, headline, report, matched, discrepant, filled,
            (SELECT string_agg(key || ' ' || value, E'\\n') FROM jsonb_each_text(undecided)),
            (SELECT string_agg(key || ' ' || value, E'\\n') FROM jsonb_each_text(r.excluded)),
            corrected, findings_open, findings_new,
            (SELECT string_agg(concat_ws(' ', m ->> 'direction', m ->> 'amount_milliunits',
                m ->> 'findings', m ->> 'currency'), E'\\n') FROM jsonb_array_elements(money) AS m)
        """
}
