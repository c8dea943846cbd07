package import Subscriptions

/// The runs of all workers on a database, in a table of trueup's: a line a run.
///
/// So any worker can tell of a run of all. The proof of a run stays its own report. Calls block.
package protocol RunTable: Sendable {
    /// Makes the table, where it is not there.
    ///
    /// - Throws: `StoreError` where it cannot be made.
    func prepare() throws(StoreError)

    /// Returns whether the table is there and may be written at present.
    ///
    /// - Returns: `false` before the first job that writes, and for a user who may only read.
    /// - Throws: `StoreError` when it cannot be learned.
    func mayBeUsed() throws(StoreError) -> Bool

    /// Notes a run as it begins, and again with what it came to.
    ///
    /// - Parameter run: In place of what was noted of it before.
    /// - Throws: `StoreError` when it cannot be noted.
    func keep(_ run: WorkerRun) throws(StoreError)

    /// Forgets runs of one worker's books.
    ///
    /// - Parameters:
    ///   - books: Whose.
    ///   - time: Those that began before it.
    /// - Throws: `StoreError` when they cannot be forgotten.
    func forget(of books: String, before time: Timestamp) throws(StoreError)

    /// The runs that began in a span of time, oldest first.
    ///
    /// - Parameters:
    ///   - first: The first moment.
    ///   - end: The moment after the last.
    /// - Returns: None where there is no table yet, or the user may not read it.
    /// - Throws: `StoreError` when they cannot be read.
    func runs(from first: Timestamp, before end: Timestamp) throws(StoreError) -> [WorkerRun]

    /// The last run of each worker, job and set of apps, newest first.
    ///
    /// - Parameter limit: How many at most.
    /// - Returns: None where there is no table yet, or the user may not read it.
    /// - Throws: `StoreError` when they cannot be read.
    func lastRuns(limit: Int) throws(StoreError) -> [WorkerRun]
}

/// The text forms of a run in a row of a table.
package enum WorkerRunText {
    /// The run of a row, in which counts and money are lines of words.
    ///
    /// - Parameter row: Books, run, worker, apps, job, mode, beginning, end, outcome, headline, report,
    ///   matched, discrepant, filled, undecided, excluded, corrected, open, new, money.
    /// - Returns: `nil` for a row that another version wrote in a way that this one does not know.
    package static func run(_ row: [String?]) -> WorkerRun? {
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

    /// The columns of a run, in the order of `values`.
    package static let columns = [
        "books", "run_id", "worker", "apps", "job", "mode", "started", "ended", "outcome",
        "exit_status", "headline", "report", "matched", "discrepant", "filled", "undecided",
        "excluded", "corrected", "findings_open", "findings_new", "money",
    ]

    /// The columns that are replaced when a run is noted again.
    package static var replaced: [String] {
        columns.filter { !["books", "run_id", "job", "mode", "started"].contains($0) }
    }

    /// The values of a run.
    ///
    /// - Parameters:
    ///   - run: The run.
    ///   - counts: Writes counts by their names.
    ///   - money: Writes sums of money.
    /// - Returns: In the order of `columns`.
    package static func values(
        of run: WorkerRun, counts: ([(name: String, count: Int)]) -> String,
        money: ([MoneyTotal]) -> String
    ) -> [CompanyLiteral] {
        func text(_ text: String?) -> CompanyLiteral { text.map(CompanyLiteral.text) ?? .null }
        func number(_ number: Int?) -> CompanyLiteral {
            number.map { .integer(Int64($0)) } ?? .null
        }
        let listing = run.listing
        let totals = listing.totals
        return [
            .text(run.books), .text(listing.runID), .text(run.worker),
            .text(run.apps.joined(separator: " ")), .text(listing.job),
            .text(listing.mode.rawValue), .integer(listing.started.unixMilliseconds),
            listing.ended.map { .integer($0.unixMilliseconds) } ?? .null,
            text(listing.exitStatus?.rawValue),
            listing.exitStatus.map { .integer(Int64($0.code)) } ?? .null, text(run.headline),
            text(run.report), number(totals.matched), number(totals.discrepant),
            number(totals.filled),
            .text(counts(totals.undecided.map { ($0.key.rawValue, $0.value) })),
            .text(counts(totals.excluded.map { ($0.key.rawValue, $0.value) })),
            number(run.figures?.corrected), number(run.figures?.open), number(run.figures?.new),
            text(run.figures.map { money($0.money) }),
        ]
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
