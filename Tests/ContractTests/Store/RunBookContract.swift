import StoreSupport
import SubscriptionStore
import Subscriptions
import Testing

/// The promises of the store about how a run begins and ends.
@Suite struct `The contract of runs` {
    private func place(_ store: BooksPlace) throws -> SQLitePlace {
        let place = try store.place()
        for id in ["1", "2", "3"] { try place.hold(subscription(id)) }
        return place
    }

    /// A row that agrees with Apple's word.
    private func judged(_ id: String) -> RowOutcome { judged(subscription(id)) }

    private func judged(_ row: LocalSubscription) -> RowOutcome {
        var result = RowOutcome(key: row.key, verdict: .match)
        result.examined = .statement
        result.askedBecause = .round
        result.check = RowCheck(
            signedDate: Timestamp(unixMilliseconds: 2000), clock: nil, isLasting: true,
            values: ValuesDigest(of: row))
        return result
    }

    @Test(arguments: BooksPlace.allCases)
    func `a killed pass over every row is continued within a day, and not after`(
        store: BooksPlace
    ) async throws {
        let place = try place(store)
        let first = try await Night(place, "run-1")
        try await first.stage(outcome("1", .match), through: "1")
        let second = try await Night(place, "run-2", after: 23)
        #expect(second.pass.passID == first.pass.passID)
        #expect(second.pass.resumedFrom == "run-1")
        let third = try await Night(place, "run-3", after: 24)
        #expect(third.pass.passID != first.pass.passID)
        #expect(third.pass.resumedFrom == nil)
        #expect(third.pass.walkedThrough == nil)
        #expect(try await third.settled("1") == [])
    }

    @Test(arguments: BooksPlace.allCases, [RunMode.apply, .check])
    func `a stopped pass over every row is continued within six hours, its check within a day`(
        store: BooksPlace, mode: RunMode
    ) async throws {
        let place = try place(store)
        let first = try await Night(place, Night.header("run-1", mode: mode))
        try await first.stage(outcome("1", .match), through: "1")
        try await first.conclude(closes: false)
        let second = try await Night(place, Night.header("run-2", mode: mode, after: 5))
        #expect(second.pass.passID == first.pass.passID)
        try await second.conclude(closes: false)
        let third = try await Night(place, Night.header("run-3", mode: mode, after: 6))
        #expect((third.pass.passID == first.pass.passID) == (mode == .check))
    }

    @Test(arguments: BooksPlace.allCases)
    func `a killed pass that asks only what is due is continued within six hours, and not after`(
        store: BooksPlace
    ) async throws {
        let place = try place(store)
        func header(_ id: String, after hours: Int64) -> RunHeader {
            Night.header(id, after: hours) { $0.coversEveryRow = false }
        }
        let first = try await Night(place, header("run-1", after: 0))
        try await first.stage(outcome("1", .match), through: "1")
        let second = try await Night(place, header("run-2", after: 5))
        #expect(second.pass.passID == first.pass.passID)
        #expect(try await second.settled("1") == ["1"])
        let third = try await Night(place, header("run-3", after: 6))
        #expect(third.pass.passID != first.pass.passID)
        #expect(third.pass.resumedFrom == nil)
        #expect(try await third.settled("1") == [])
    }

    @Test(arguments: BooksPlace.allCases, [0, 1, 2, 3, 4])
    func `a run with another job, mode, settings or narrowing begins anew`(
        store: BooksPlace, change: Int
    ) async throws {
        let place = try place(store)
        let first = try await Night(place, "run-1")
        let other = Night.header("run-2", after: 1) { header in
            switch change {
            case 0: header.job = "backfill"
            case 1: header.mode = .check
            case 2: header.settingsDigest = "another"
            case 3: header.filters = ["limit 100"]
            default: header.coversEveryRow = false
            }
        }
        let second = try await Night(place, other)
        #expect(second.pass.passID != first.pass.passID)
        #expect(second.pass.resumedFrom == nil)
    }

    @Test(arguments: BooksPlace.allCases)
    func `a pass that is closed is over`(store: BooksPlace) async throws {
        let place = try place(store)
        let first = try await Night(place, "run-1")
        try await first.conclude()
        let second = try await Night(place, "run-2", after: 1)
        #expect(second.pass.passID != first.pass.passID)
    }

    @Test(arguments: BooksPlace.allCases)
    func `what an ended run could not ask is asked by the next, and reported as undecided`(
        store: BooksPlace
    ) async throws {
        let place = try place(store)
        let first = try await Night(place, "run-1")
        try await first.stage(outcome("1", .match), outcome("2", .undecided(.unavailable)))
        #expect(try await first.store.unreachedRows(in: first.pass, run: first.run) == 1)
        try await first.conclude(closes: false)
        let report = try #require(try place.report(ofRun: "run-1"))
        #expect(report.undecided == [key("2"): .unavailable, key("3"): .deadline])
        #expect(report.totals.matched == 1)
        #expect(report.totals.inScope == 3)
        let second = try await Night(place, "run-2", after: 1)
        #expect(second.pass.resumedFrom == "run-1")
        #expect(try await second.settled("1", "2", "3") == ["1"])
    }

    @Test(arguments: BooksPlace.allCases)
    func `a run that is not about every row reaches only what is owed`(
        store: BooksPlace
    ) async throws {
        let place = try place(store)
        let header = Night.header("run-1") { $0.coversEveryRow = false }
        let night = try await Night(place, header)
        #expect(try await night.store.unreachedRows(in: night.pass, run: header) == 0)
        try await night.store.record(
            RecordedPage(owing: [notification("u", of: "2")], intoInbox: true), of: app,
            in: night.pass, run: header)
        #expect(try await night.store.unreachedRows(in: night.pass, run: header) == 1)
    }

    @Test(arguments: BooksPlace.allCases)
    func `what others owe is out of scope for a narrowed run and for a plan`(
        store: BooksPlace
    ) async throws {
        let place = try place(store)
        let first = try await Night(place, Night.header("run-1") { $0.coversEveryRow = false })
        try await first.store.record(
            RecordedPage(owing: [notification("u", of: "2")], intoInbox: true), of: app,
            in: first.pass, run: first.run)
        for (number, isPlan) in [false, true].enumerated() {
            var header = Night.header("stopped-\(number)", job: "other \(number)")
            header.coversEveryRow = false
            if isPlan { header.judgesRows = false } else { header.filters = ["limit 1"] }
            let night = try await Night(place, header)
            #expect(try await night.store.unreachedRows(in: night.pass, run: header) == 0)
            try await night.conclude(closes: false)
            #expect(try place.report(ofRun: header.runID)?.totals.undecidedCount == 0)
        }
    }

    @Test(arguments: BooksPlace.allCases)
    func `unresolved findings are those that nothing mended`(
        store: BooksPlace
    ) async throws {
        let place = try place(store)
        let night = try await Night(place, "run-1")
        let version = try #require(try await night.row("1")).row.rowVersion
        try await night.stage(drift("1", version: version), drift("2", version: 99))
        #expect(try await night.store.unresolvedFindings(of: night.pass) == [.high: 2])
        try await night.apply()
        #expect(try await night.store.unresolvedFindings(of: night.pass) == [.high: 1])
    }

    @Test(arguments: BooksPlace.allCases)
    func `findings are new until a run has reported them`(store: BooksPlace) async throws {
        let place = try place(store)
        let first = try await Night(place, "run-1")
        try await first.stage(drift("1", version: 99))
        #expect(try await first.store.newFindings(of: first.pass) == [.high: 1])
        try await first.conclude()
        let second = try await Night(place, "run-2", after: 24)
        try await second.stage(drift("1", version: 99), drift("2", version: 99))
        #expect(try await second.store.unresolvedFindings(of: second.pass) == [.high: 2])
        #expect(try await second.store.newFindings(of: second.pass) == [.high: 1])
    }

    @Test(arguments: BooksPlace.allCases, [true, false])
    func `a round ends with the run that leaves no row, also where its pass stays open`(
        store: BooksPlace, endsRound: Bool
    ) async throws {
        let place = try place(store)
        let first = try await Night(place, "run-1")
        try await first.stage(judged("1"), judged("2"))
        try await first.conclude(closes: false, endsRound: endsRound)
        let second = try await Night(place, "run-2", after: 23)
        #expect(second.pass.passID != first.pass.passID)
        let began = endsRound ? second.run.started : first.run.started
        #expect(second.pass.roundBegan == began)
        try await second.stage(judged("3"))
        let totals = try await second.store.planTotals(of: second.pass)
        #expect(totals.coveredRows == (endsRound ? 1 : 3))
        let coverage = try await second.store.coverage(
            kind: .full, in: second.pass, run: second.run)
        #expect(coverage.roundBefore == (endsRound ? nil : 2))
    }

    @Test(arguments: BooksPlace.allCases)
    func `guards count shares of the rows of its apps where only what is pending is asked`(
        store: BooksPlace
    ) async throws {
        let other = AppIdentity(bundleID: "com.example.other", environment: .production)
        let foreign = LocalSubscription(
            key: SubscriptionKey(app: other, originalTransactionID: "9"))
        let place = try place(store)
        try place.hold(foreign)
        func covered(_ id: String, after hours: Int64, _ filters: [String]) async throws -> Int {
            let header = Night.header(id, after: hours) {
                $0.filters = filters
                $0.coversEveryRow = false
                $0.countsTables = false
            }
            let night = try await Night(place, header)
            try await night.stage(judged("1"))
            let covered = try await night.store.planTotals(of: night.pass).coveredRows
            try await night.conclude()
            return covered
        }
        let whole = try await covered("run-1", after: 0, [])
        #expect(whole > 2)
        #expect(try await covered("run-2", after: 1, ["app \(app.name)"]) == whole - 1)
        #expect(try await covered("run-3", after: 2, ["app \(other.name)"]) == 1)
        #expect(try await covered("run-4", after: 3, ["limit 1"]) == 1)
    }

    @Test(arguments: BooksPlace.allCases)
    func `runs for some apps alone continue a round of their own, apart from that of all apps`(
        store: BooksPlace
    ) async throws {
        func mine(_ id: String, after hours: Int64) -> RunHeader {
            Night.header(id, after: hours) { $0.filters = ["app \(app.name)"] }
        }
        let other = AppIdentity(bundleID: "com.example.other", environment: .production)
        let foreign = LocalSubscription(
            key: SubscriptionKey(app: other, originalTransactionID: "9"))
        let place = try place(store)
        try place.hold(foreign)
        let first = try await Night(place, mine("run-1", after: 0))
        try await first.stage(judged("1"), judged("2"))
        try await first.conclude(closes: false, endsRound: false)
        let whole = try await Night(place, "run-2", after: 12)
        #expect(whole.pass.roundBegan == whole.run.started)
        try await whole.stage(judged(foreign))
        try await whole.conclude(closes: false, endsRound: false)
        let second = try await Night(place, mine("run-3", after: 23))
        #expect(second.pass.roundBegan == first.run.started)
        try await second.stage(judged("3"))
        #expect(try await second.store.planTotals(of: second.pass).coveredRows == 3)
        let coverage = try await second.store.coverage(
            kind: .full, in: second.pass, run: second.run)
        #expect(coverage.roundBefore == 2)
        try await second.conclude()
        let third = try await Night(place, mine("run-4", after: 47))
        #expect(third.pass.roundBegan == third.run.started)
        try await third.conclude(closes: false, endsRound: false)
        // The round of all apps goes on, and its end is also that of each app's.
        let rest = try await Night(place, "run-5", after: 60)
        #expect(rest.pass.roundBegan == whole.run.started)
        try await rest.conclude()
        let fourth = try await Night(place, mine("run-6", after: 71))
        #expect(fourth.pass.roundBegan == fourth.run.started)
    }

    @Test(arguments: BooksPlace.allCases)
    func `a run ends once`(store: BooksPlace) async throws {
        let place = try place(store)
        let night = try await Night(place, "run-1")
        try await night.conclude()
        await #expect(throws: StoreError.self) { try await night.conclude() }
    }

    @Test(arguments: BooksPlace.allCases)
    func `what a killed run wrote stands in the next report, once`(
        store: BooksPlace
    ) async throws {
        let place = try place(store)
        let first = try await Night(place, "run-1")
        let version = try #require(try await first.row("1")).row.rowVersion
        try await first.stage(drift("1", version: version))
        try await first.apply()
        #expect(try place.report(ofRun: "run-1") == nil)
        let second = try await Night(place, "run-2", after: 48)
        try await second.conclude()
        #expect(try place.report(ofRun: "run-2")?.entries == [1])
        let third = try await Night(place, "run-3", after: 72)
        try await third.conclude()
        #expect(try place.report(ofRun: "run-3")?.entries == [])
    }

    @Test(arguments: BooksPlace.allCases)
    func `what a killed run found of notifications is told by the next run of any job, once`(
        store: BooksPlace
    ) async throws {
        let place = try place(store)
        try await place.awaitReport(ofRun: "recover-1")
        let killed = try await Night(
            place, Night.header("recover-1", job: "recover") { $0.coversEveryRow = false })
        var finding = Finding(kind: .notificationMissed, severity: .high, row: subscription("1"))
        finding.field = "u"
        finding.action = .recovered
        try await killed.store.record(
            RecordedPage(
                fresh: [notification("u", of: "1")], findings: [finding], intoInbox: true), of: app,
            in: killed.pass, run: killed.run)
        for (run, job) in [("run-1", "nightly"), ("run-2", "nightly"), ("recover-2", "recover")] {
            let night = try await Night(
                place,
                Night.header(run, after: run == "recover-2" ? 5 : 1, job: job) {
                    $0.coversEveryRow = false
                })
            try await night.conclude()
            #expect(
                try place.report(ofRun: run)?.kinds
                    == (run == "run-1" ? [.notificationMissed] : []),
                "\(run)")
        }
    }
}
