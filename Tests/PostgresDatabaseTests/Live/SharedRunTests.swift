#if PostgreSQL
    import PostgresDatabase
    import ServerConnections
    import Subscriptions
    import TestSupport
    import Testing

    @Suite(.enabled(if: TestServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"))
    struct `The runs of all workers` {
        private static let start = Timestamp(unixMilliseconds: 1_796_000_000_123)

        private func register(_ live: LiveCompany, user: String = "trueup") throws -> SharedRuns {
            let address = try PostgresAddress(
                url: TestServer.url(database: live.database, user: user))
            return SharedRuns(SharedSession(try .libpq(address)))
        }

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

        @Test func `are read as they were noted, as they began and as they ended`() throws {
            let live = try LiveCompany()
            let runs = try register(live)
            try runs.prepare()
            let begun = run("one", "a", ends: false)
            try runs.keep(begun)
            #expect(try runs.lastRuns(limit: 10) == [begun])
            let ended = run("one", "a")
            try runs.keep(ended)
            #expect(try runs.lastRuns(limit: 10) == [ended])
        }

        @Test func `stand under one date, in the order in which they began`() throws {
            let live = try LiveCompany()
            let runs = try register(live)
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

        @Test func `are none before the first job that writes, and nothing is made`() throws {
            let role = "looker\(Int.random(in: 1...999_999_999))"
            let live = try LiveCompany(
                preparing: "CREATE ROLE \(role) LOGIN; GRANT SELECT ON subs TO \(role)")
            #expect(try register(live).lastRuns(limit: 10) == [])
            #expect(try !register(live).mayBeUsed())
            #expect(try live.text("SELECT to_regnamespace('trueup')") == nil)
            let runs = try register(live)
            try runs.prepare()
            try runs.keep(run("one", "a"))
            #expect(try register(live, user: role).lastRuns(limit: 10) == [])
            #expect(try !register(live, user: role).mayBeUsed())
        }
    }
#endif
