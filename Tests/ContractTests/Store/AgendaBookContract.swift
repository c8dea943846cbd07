import StoreSupport
import SubscriptionStore
import Subscriptions
import Testing

/// The promises of the store about what must be asked.
@Suite struct `The contract of the agenda` {
    private static let day: Int64 = 24 * Night.hour

    private func request(at now: Timestamp, sample: Int = 0) -> ScheduleRequest {
        ScheduleRequest(
            now: now, sweepMilliseconds: 30 * Self.day, sweepEndedMilliseconds: 180 * Self.day,
            sample: .rows(sample), seed: 7)
    }

    /// Rows without a check, with other values, and with a clock that has passed.
    private func schedule(
        _ night: Night, sample: Int = 0, sweeping: Int = 0
    ) async throws -> ScheduleCounts {
        let now = night.run.started
        return try await night.store.schedule(
            request(at: now, sample: sample), in: night.pass, run: night.run,
            level: { $0.isEmpty ? 0 : sweeping },
            due: { row, ends in
                guard let record = row.check else { return .never }
                if record.check.values != row.values { return .changed }
                if let clock = record.check.clock, clock <= now { return .clock }
                if let last = ends.lasting, SweepPlace(asOf: record.asOf, key: row.key) <= last {
                    return .sweep
                }
                return nil
            })
    }

    /// A row that agrees with what Apple signed at a time.
    private func agreed(
        _ row: LocalSubscription, signed: Int64 = 2000, clock: Timestamp? = nil,
        because reason: QuestionReason? = .never
    ) -> RowOutcome {
        var result = RowOutcome(key: row.key, verdict: .match)
        result.examined = .statement
        result.askedBecause = reason
        result.check = RowCheck(
            signedDate: Timestamp(unixMilliseconds: signed), clock: clock, isLasting: true,
            values: ValuesDigest(of: row))
        return result
    }

    private func due(_ night: Night) async throws -> [String] {
        try await night.store.lines(of: .due, after: nil, limit: 99, in: night.pass)
            .map { "\($0.key.originalTransactionID) \($0.reason.rawValue)" }
    }

    @Test(arguments: BooksPlace.allCases)
    func `the schedule finds what was never judged, written to since, or has ended`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        let rows = ["1", "2", "3", "4"].map { subscription($0) }
        for row in rows { try place.hold(row) }
        let first = try await Night(place, "run-1")
        #expect(try await schedule(first).due == [.never: 4])
        let soon = Night.start.adding(milliseconds: Night.hour)
        try await first.stage(
            agreed(rows[0]), agreed(rows[1], clock: soon), agreed(rows[2]))
        try await first.conclude()
        try place.hold(subscription("3", status: 2))
        let next = try await Night(place, "run-2", after: 24)
        let counts = try await schedule(next)
        #expect(counts.rows == 4)
        #expect(counts.unchanged == 1)
        #expect(counts.oldestCheck == Timestamp(unixMilliseconds: 2000))
        #expect(try await due(next) == ["3 changed", "2 clock", "4 never"])
        // Once for each pass: a run that goes on with it asks the same.
        #expect(try await schedule(next, sample: 9) == counts)
    }

    @Test(arguments: BooksPlace.allCases)
    func `the oldest words are swept, and the sample is drawn from the rest`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        let rows = (1...9).map { subscription("\($0)") }
        for row in rows { try place.hold(row) }
        let first = try await Night(place, "run-1")
        for (index, row) in rows.enumerated() {
            try await first.stage(agreed(row, signed: 9000 - Int64(index)))
        }
        try await first.conclude()
        let next = try await Night(place, "run-2", after: 24)
        let counts = try await schedule(next, sample: 3, sweeping: 2)
        #expect(counts.due == [.sweep: 2, .sample: 3])
        #expect(counts.unchanged == 7)
        let lines = try await due(next)
        #expect(lines.filter { $0.hasSuffix("sweep") } == ["8 sweep", "9 sweep"])
        #expect(Set(lines).count == 5)
    }

    @Test(arguments: BooksPlace.allCases, [[], ["app \(app.name)"]])
    func `rows of an app that a run is not for take no place in its sweep, and are not left`(
        store: BooksPlace, filters: [String]
    ) async throws {
        let place = try store.place()
        let other = AppIdentity(bundleID: "com.example.other", environment: .production)
        func foreign(_ id: String) -> LocalSubscription {
            LocalSubscription(key: SubscriptionKey(app: other, originalTransactionID: id))
        }
        let rows = (1...4).map { subscription("\($0)") } + (5...8).map { foreign("\($0)") }
        for row in rows + [foreign("9")] { try place.hold(row) }
        let first = try await Night(place, "run-1")
        for (index, row) in rows.enumerated() {
            try await first.stage(agreed(row, signed: 9000 - Int64(index)))
        }
        try await first.stage(
            RowOutcome(key: foreign("9").key, verdict: .undecided(.unavailable)))
        try await first.conclude()
        let header = Night.header("run-2", after: 24) { $0.filters = filters }
        let next = try await Night(place, header)
        let counts = try await schedule(next, sweeping: 2)
        #expect(counts.oldestCheck == Timestamp(unixMilliseconds: 8997))
        let swept = try await due(next).filter { $0.hasSuffix("sweep") && $0 < "5" }
        #expect(swept == ["3 sweep", "4 sweep"])
        let coverage = try await next.store.coverage(kind: .delta, in: next.pass, run: next.run)
        #expect(coverage.left[.heldBack] == (filters.isEmpty ? 1 : nil))
    }

    @Test(arguments: BooksPlace.allCases)
    func `a check and a narrowed run take nothing off what is owed`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        let row = subscription("1")
        try place.hold(row)
        let first = try await Night(place, "run-1")
        try await owe("1", signed: 3000, in: first)
        #expect(try await first.pending() == ["1"])
        try await first.conclude()
        for (number, mode) in [RunMode.check, .apply].enumerated() {
            var header = Night.header("look-\(number)", mode: mode, after: 1 + Int64(number))
            if mode == .apply { header.filters = ["limit 1"] }
            let night = try await Night(place, header)
            #expect(try await night.pending() == ["1"])
            try await night.stage(agreed(row, signed: 4000))
            #expect(try await night.pending() == [])
            try await night.conclude()
        }
        let night = try await Night(place, "run-2", after: 24)
        #expect(try await night.pending() == ["1"])
        try await night.stage(agreed(row, signed: 4000))
        try await night.conclude()
        #expect(try await Night(place, "run-3", after: 25).pending() == [])
    }

    @Test(arguments: BooksPlace.allCases)
    func `the account of a subscription is kept until a statement names another`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        let row = subscription("1")
        try place.hold(row)
        let accounts = [AccountDigest(bits: .max), nil, AccountDigest(bits: 2)]
        let kept = [AccountDigest(bits: .max), AccountDigest(bits: .max), AccountDigest(bits: 2)]
        for (number, account) in accounts.enumerated() {
            let night = try await Night(
                place, "run-\(number)", after: 25 * Int64(number))
            var judged = agreed(row, signed: 2000 + Int64(number))
            judged.check?.account = account
            try await night.stage(judged)
            try await night.conclude()
            let notes = try await night.store.notes(about: [row.key])
            #expect(notes[row.key]?.check?.check.account == kept[number])
        }
    }

    @Test(arguments: BooksPlace.allCases)
    func `what is undecided or unwritten stays owed`(store: BooksPlace) async throws {
        let place = try store.place()
        for id in ["1", "2", "3"] { try place.hold(subscription(id)) }
        let first = try await Night(place, "run-1")
        try await first.stage(
            outcome("1", .undecided(.unavailable)), drift("2", version: 1),
            outcome("3", .match))
        try await first.conclude()
        let next = try await Night(place, "run-2", after: 25)
        #expect(try await next.pending() == ["1", "2"])
        try await next.stage(outcome("1", .match), drift("2", version: 1))
        try await next.apply()
        try await next.conclude()
        #expect(try await Night(place, "run-3", after: 50).pending() == [])
    }

    @Test(arguments: BooksPlace.allCases, [false, true])
    func `of two notifications the one signed later counts, in either order`(
        store: BooksPlace, agreesLater: Bool
    ) async throws {
        for settlesFirst in [false, true] {
            let place = try store.place()
            let row = subscription("1")
            try place.hold(row)
            let night = try await Night(place, "run-1")
            let signed: (pending: Int64, agreed: Int64) = agreesLater ? (3000, 4000) : (4000, 3000)
            if !settlesFirst { try await owe("1", signed: signed.pending, in: night) }
            try await settle(agreed(row, signed: signed.agreed, because: nil), in: night)
            if settlesFirst { try await owe("1", signed: signed.pending, in: night) }
            #expect(try await night.pending() == (agreesLater ? [] : ["1"]))
            try await night.conclude()
            let next = try await Night(place, "run-2", after: 25)
            #expect(try await next.pending() == (agreesLater ? [] : ["1"]))
        }
    }

    private func owe(_ id: String, signed: Int64, in night: Night) async throws {
        var page = RecordedPage(fresh: [], intoInbox: true)
        page.pending = [
            NewQuestion(
                key: key(id), restsOn: Timestamp(unixMilliseconds: signed), isEntitling: true)
        ]
        try await night.store.record(page, of: app, in: night.pass, run: night.run)
    }

    private func settle(_ outcome: RowOutcome, in night: Night) async throws {
        var page = RecordedPage(fresh: [], intoInbox: true)
        page.settled = [outcome]
        try await night.store.record(page, of: app, in: night.pass, run: night.run)
    }

    @Test(arguments: BooksPlace.allCases)
    func `a drawn row that was not judged is counted apart from one that differs`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        let rows = ["1", "2", "3"].map { subscription($0) }
        for row in rows { try place.hold(row) }
        let first = try await Night(place, "run-1")
        _ = try await schedule(first)
        for row in rows { try await first.stage(agreed(row)) }
        try await first.conclude()
        let next = try await Night(place, "run-2", after: 24)
        #expect(try await schedule(next, sample: 3).due == [.sample: 3])
        try await next.stage(
            agreed(rows[0], because: .sample), outcome("2", .undecided(.unavailable)),
            drift("3", version: 1))
        let sample = try await next.store.coverage(
            kind: .delta, in: next.pass, run: next.run
        ).sample
        #expect(sample?.drawn == 3)
        #expect(sample?.differing == 1)
        #expect(sample?.notJudged == 1)
    }

    @Test(arguments: BooksPlace.allCases)
    func `an answer that may be wrong once is asked for three times more, then once a week`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        try place.hold(subscription("1"))
        func pending(_ night: Night) async throws -> [String] {
            try await night.store.lines(of: .pending, after: nil, limit: 9, in: night.pass)
                .map(\.key.originalTransactionID)
        }
        var doubtful = outcome("1", .discrepancy)
        doubtful.isDoubtful = true
        doubtful.askedBecause = .heldBack
        var asked: [Int64] = []
        for day in 0...11 {
            let night = try await Night(place, "run-\(day)", after: Int64(day) * 24)
            if try await pending(night) == ["1"] { asked.append(Int64(day)) }
            if day == 0 || asked.last == Int64(day) { try await night.stage(doubtful) }
            try await night.conclude()
        }
        #expect(asked == [1, 2, 3, 10])
        let last = try await Night(place, "run-17", after: 17 * 24)
        #expect(try await pending(last) == ["1"])
        try await last.stage(agreed(subscription("1"), because: .heldBack))
        try await last.conclude()
        #expect(try await pending(Night(place, "run-18", after: 18 * 24)).isEmpty)
    }

    @Test(arguments: BooksPlace.allCases)
    func `a row whose history was not read is asked for in every run, and then read whole`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        try place.hold(subscription("1"))
        func pending(_ night: Night) async throws -> [String] {
            try await night.store.lines(of: .pending, after: nil, limit: 9, in: night.pass)
                .map(\.key.originalTransactionID)
        }
        func history(_ night: Night) async throws -> HistoryMark? {
            let key = subscription("1").key
            return try await night.store.notes(about: [key])[key]?.history
        }
        var unread = agreed(subscription("1"), because: .heldBack)
        unread.lacksHistory = true
        for day in 0...5 {
            let night = try await Night(place, "run-\(day)", after: Int64(day) * 24)
            #expect(try await pending(night) == (day == 0 ? [] : ["1"]))
            try await night.stage(unread)
            try await night.conclude()
            // No periods agree with this digest, so the whole history is read.
            #expect(try await history(night)?.periods?.sha256 == "")
        }
        let last = try await Night(place, "run-6", after: 6 * 24)
        try await last.stage(agreed(subscription("1"), because: .heldBack))
        try await last.conclude()
        #expect(try await pending(Night(place, "run-7", after: 7 * 24)).isEmpty)
    }

    @Test(arguments: BooksPlace.allCases)
    func `each drawn row is counted under what it was judged by`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        let rows = (1...5).map { subscription("\($0)") }
        for row in rows { try place.hold(row) }
        let first = try await Night(place, "run-1")
        _ = try await schedule(first)
        for row in rows { try await first.stage(agreed(row)) }
        try await first.conclude()
        let next = try await Night(place, "run-2", after: 24)
        #expect(try await schedule(next, sample: 5).due == [.sample: 5])
        try await next.stage(
            agreed(rows[0], because: .sample), agreed(rows[1], because: .sample),
            agreed(rows[2], because: .clock), agreed(rows[3], because: nil),
            outcome("5", .excluded(.inFlight)))
        let sample = try #require(
            try await next.store.coverage(kind: .delta, in: next.pass, run: next.run)
                .sample)
        #expect(
            sample.judgedBy
                == RunCoverage.Sample.JudgedBy(ownQuestion: 2, otherQuestion: 1, notification: 1))
        #expect(sample.notJudged == 1)
        #expect(sample.drawn == 5)
    }
}
