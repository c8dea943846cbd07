import ServerConnections
import Subscriptions
import TestSupport
import Testing

@Suite struct `The runs of all workers` {
    private static let start = Timestamp(unixMilliseconds: 1_796_000_000_123)

    private func run(
        _ books: String, _ id: String, after milliseconds: Int64 = 0, job: String = "nightly",
        ends: Bool = true
    ) -> WorkerRun {
        let started = Self.start.adding(milliseconds: milliseconds)
        var run = WorkerRun(
            books: books, worker: "ops@\(books)",
            apps: ["com.example.one/production", "com.example.one/sandbox"],
            listing: RunListing(
                runID: id, job: job, mode: .apply, started: started, ended: nil,
                exitStatus: nil, totals: RunTotals()))
        guard ends else { return run }
        run.listing.ended = started.adding(milliseconds: 60_000)
        run.listing.exitStatus = .incomplete
        run.listing.totals.matched = 10
        run.listing.totals.discrepant = 2
        run.listing.totals.filled = 1
        run.listing.totals.undecided = [.unavailable: 3, .deadline: 4]
        run.listing.totals.excluded = [.inFlight: 5]
        run.headline = "Incomplete (exit status 3): \"quoted\" – and more."
        run.report = "/srv/reports/\(id)"
        run.figures = RunSums(
            corrected: 2, open: 7, new: 1,
            money: [
                MoneyTotal(
                    currency: "EUR", direction: .customerLoses, amount: 19_980, findings: 2)
            ])
        return run
    }

    @Test(arguments: WorkerPlace.here)
    func `are read as they were noted, as they began and as they ended`(place: WorkerPlace) throws {
        let live = try place.database()
        let runs = try live.runs()
        try runs.prepare()
        let begun = run("one", "a", ends: false)
        try runs.keep(begun)
        #expect(try runs.lastRuns(limit: 10) == [begun])
        let ended = run("one", "a")
        try runs.keep(ended)
        #expect(try runs.lastRuns(limit: 10) == [ended])
    }

    @Test(arguments: WorkerPlace.here)
    func `stand under one date, in the order in which they began`(place: WorkerPlace) throws {
        let live = try place.database()
        let runs = try live.runs()
        try runs.prepare()
        let all = [
            run("one", "a"), run("two", "b", after: 1), run("one", "c", after: 86_400_000),
        ]
        for run in all.reversed() { try runs.keep(run) }
        let end = Self.start.adding(milliseconds: 86_400_000)
        #expect(try runs.runs(from: Self.start, before: end) == Array(all.prefix(2)))
        // The last of each worker.
        #expect(try runs.lastRuns(limit: 10) == [all[2], all[1]])
        try runs.forget(of: "one", before: end)
        #expect(try runs.runs(from: Self.start, before: end) == [all[1]])
    }

    @Test(arguments: WorkerPlace.here)
    func `are none before the first job that writes, and nothing is made`(place: WorkerPlace) throws
    {
        let live = try place.database()
        #expect(try live.runs().lastRuns(limit: 10) == [])
        #expect(try !live.runs().mayBeUsed())
        #expect(try !live.hasOurTables)
        let runs = try live.runs()
        try runs.prepare()
        #expect(try runs.mayBeUsed())
        try runs.keep(run("one", "a"))
        #expect(try live.runs(mayOnlyRead: true).lastRuns(limit: 10) == [])
        #expect(try !live.runs(mayOnlyRead: true).mayBeUsed())
    }
}
