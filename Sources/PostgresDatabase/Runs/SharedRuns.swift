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
            SELECT \(WorkerRunText.selection) FROM trueup.runs AS r
            WHERE started >= \(WorkerRunText.time("$1")) AND started < \(WorkerRunText.time("$2"))
            ORDER BY started, books, run_id
            """, [String(first.unixMilliseconds), String(end.unixMilliseconds)])
    }

    package func lastRuns(limit: Int) throws(StoreError) -> [WorkerRun] {
        try read(
            """
            SELECT \(WorkerRunText.selection) FROM (
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

    static let upsert: String = {
        let marks = columns.enumerated().map { index, column in
            let mark = "$\(index + 1)"
            return ["started", "ended"].contains(column) ? time(mark) : mark
        }
        let updates = replaced.map { "\($0) = excluded.\($0)" }
        return """
            INSERT INTO trueup.runs (\(columns.joined(separator: ", ")))
            VALUES (\(marks.joined(separator: ", ")))
            ON CONFLICT (books, run_id) DO UPDATE SET \(updates.joined(separator: ", "))
            """
    }()

    static func parameters(of run: WorkerRun) -> [String?] {
        values(of: run, counts: json) { CanonicalJSON.array($0.map(json)).rendered }
            .map(\.parameter)
    }

    private static func json(_ counts: [(name: String, count: Int)]) -> String {
        let members = counts.map { ($0.name, CanonicalJSON.integer(Int64($0.count))) }
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
    static let selection = """
        books, run_id, worker, apps, job, mode, \(milliseconds("started")),
            \(milliseconds("ended")), outcome, headline, report, matched, discrepant, filled,
            (SELECT string_agg(key || ' ' || value, E'\\n') FROM jsonb_each_text(undecided)),
            (SELECT string_agg(key || ' ' || value, E'\\n') FROM jsonb_each_text(r.excluded)),
            corrected, findings_open, findings_new,
            (SELECT string_agg(concat_ws(' ', m ->> 'direction', m ->> 'amount_milliunits',
                m ->> 'findings', m ->> 'currency'), E'\\n') FROM jsonb_array_elements(money) AS m)
        """
}
