package import Subscriptions
import Synchronization

/// The runs of all workers on a database, in a table of trueup's: a line a run.
///
/// So any worker can list the runs of all workers. The proof of a run is still its own report.
/// Calls block.
package final class SharedRuns: Sendable {
    private let session: SharedSession

    package init(_ session: SharedSession) { self.session = session }

    /// Makes the table, where it is not there.
    ///
    /// - Throws: `StoreError` where it cannot be made.
    package func prepare() throws(StoreError) {
        try session.keeper.withLock { keeper throws(StoreError) in try keeper.bringUpToDate() }
    }

    /// Whether the table is there and may be written, as it is.
    ///
    /// - Returns: `false` before the first job that writes, and for a user who may only read.
    /// - Throws: `StoreError` when it cannot be learned.
    package func mayBeUsed() throws(StoreError) -> Bool {
        try session.keeper.withLock { keeper throws(StoreError) in
            try keeper.mayUse("runs", for: ["SELECT", "INSERT", "UPDATE", "DELETE"])
        }
    }

    /// Notes a run as it begins, and again with what it came to.
    ///
    /// - Parameter run: In place of what was noted of it before.
    /// - Throws: `StoreError` when it cannot be noted.
    package func keep(_ run: WorkerRun) throws(StoreError) {
        try session.keeper.withLock { keeper throws(StoreError) in
            try keeper.write("noting a run for all workers") { session throws(ServerFailure) in
                _ = try session.run(WorkerRunText.upsert, WorkerRunText.parameters(of: run))
            }
        }
    }

    /// Forgets runs of one worker's books.
    ///
    /// - Parameters:
    ///   - books: Whose.
    ///   - time: Those that began before it.
    /// - Throws: `StoreError` when they cannot be forgotten.
    package func forget(of books: String, before time: Timestamp) throws(StoreError) {
        try session.keeper.withLock { keeper throws(StoreError) in
            try keeper.write("forgetting runs") { session throws(ServerFailure) in
                _ = try session.run(
                    "DELETE FROM trueup.runs WHERE books = $1 AND started < \(WorkerRunText.time("$2"))",
                    [books, String(time.unixMilliseconds)])
            }
        }
    }

    /// The runs that began in a span of time, oldest first.
    ///
    /// - Parameters:
    ///   - first: The first moment.
    ///   - end: The moment after the last.
    /// - Returns: None where there is no table yet, or the user may not read it.
    /// - Throws: `StoreError` when they cannot be read.
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

    /// The last run of each worker, job and set of apps, newest first.
    ///
    /// - Parameter limit: How many at most.
    /// - Returns: None where there is no table yet, or the user may not read it.
    /// - Throws: `StoreError` when they cannot be read.
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
        try session.keeper.withLock { keeper throws(StoreError) in
            guard try keeper.mayUse("runs", for: ["SELECT"]) else { return [] }
            let rows = try keeper.read("reading the runs of all workers") {
                session throws(ServerFailure) in
                try session.run(sql, parameters).rows
            }
            return rows.compactMap(WorkerRunText.run)
        }
    }
}

/// How a run is in `trueup.runs`.
enum WorkerRunText {
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

    /// In the order in which `run` takes them; what is nested comes as lines of words.
    static let columns = """
        books, run_id, worker, apps, job, mode, \(milliseconds("started")),
            \(milliseconds("ended")), outcome, headline, report, matched, discrepant, filled,
            (SELECT string_agg(key || ' ' || value, E'\\n') FROM jsonb_each_text(undecided)),
            (SELECT string_agg(key || ' ' || value, E'\\n') FROM jsonb_each_text(r.excluded)),
            corrected, findings_open, findings_new,
            (SELECT string_agg(concat_ws(' ', m ->> 'direction', m ->> 'amount_milliunits',
                m ->> 'findings', m ->> 'currency'), E'\\n') FROM jsonb_array_elements(money) AS m)
        """

    /// `nil` for a row that another version wrote in a way that this one does not know.
    static func run(_ row: [String?]) -> WorkerRun? {
        guard row.count == 20, let books = row[0], let runID = row[1], let worker = row[2],
            let apps = row[3], let job = row[4], let mode = row[5].flatMap(RunMode.init),
            let started = timestamp(row[6])
        else { return nil }
        var totals = RunTotals()
        totals.matched = number(row[11]) ?? 0
        totals.discrepant = number(row[12]) ?? 0
        totals.filled = number(row[13]) ?? 0
        for (name, count) in counts(row[14]) {
            guard let reason = UndecidedReason(rawValue: name) else { continue }
            totals.undecided[reason] = count
        }
        for (name, count) in counts(row[15]) {
            guard let reason = ExclusionReason(rawValue: name) else { continue }
            totals.excluded[reason] = count
        }
        var figures: RunSums?
        if let corrected = number(row[16]), let open = number(row[17]), let new = number(row[18]) {
            figures = RunSums(
                corrected: corrected, open: open, new: new, money: lines(row[19]).compactMap(money))
        }
        return WorkerRun(
            books: books, worker: worker, apps: apps.split(separator: " ").map(String.init),
            listing: RunListing(
                runID: runID, job: job, mode: mode, started: started, ended: timestamp(row[7]),
                exitStatus: row[8].flatMap(ExitStatus.init), totals: totals),
            headline: row[9], report: row[10], figures: figures)
    }

    private static func number(_ text: String?) -> Int? { text.flatMap { Int($0) } }

    private static func timestamp(_ text: String?) -> Timestamp? {
        text.flatMap { Int64($0) }.map(Timestamp.init(unixMilliseconds:))
    }

    private static func lines(_ text: String?) -> [Substring] {
        (text ?? "").split(separator: "\n")
    }

    private static func counts(_ text: String?) -> [(String, Int)] {
        lines(text).compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 2, let count = Int(words[1]) else { return nil }
            return (String(words[0]), count)
        }
    }

    private static func money(_ line: Substring) -> MoneyTotal? {
        let words = line.split(separator: " ", maxSplits: 3)
        guard words.count == 4, let direction = Direction(rawValue: String(words[0])),
            let amount = Int64(words[1]), let findings = Int(words[2])
        else { return nil }
        return MoneyTotal(
            currency: String(words[3]), direction: direction, amount: amount, findings: findings)
    }
}
