import SubscriptionStore
import Subscriptions
import Testing

/// The promises of the store about what earlier runs noted about subscriptions.
@Suite struct `The contract of the notes about rows` {
    @Test(arguments: BooksPlace.allCases)
    func `absences count distinct days and end when Apple knows the id`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        try place.hold(subscription("1"))
        func absence() async throws -> AbsenceRecord? {
            try await place.store.notes(about: [key("1")])[key("1")]?.absence
        }
        for (number, day) in ["2026-11-20", "2026-11-20", "2026-11-21"].enumerated() {
            let night = try await Night(place, "run-\(number)")
            var absent = outcome("1", .discrepancy)
            absent.absence = .absent(day: day)
            try await night.stage(absent)
            try await night.conclude()
        }
        #expect(
            try await absence()
                == AbsenceRecord(firstDay: "2026-11-20", lastDay: "2026-11-21", distinctDays: 2))
        let night = try await Night(place, "run-9")
        var present = outcome("1", .match)
        present.absence = .present
        try await night.stage(present)
        #expect(try await absence() == nil)
    }

    @Test(arguments: BooksPlace.allCases)
    func `the newest statement that any run has seen is kept, whatever its verdict`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        try place.hold(subscription("1"))
        func newest() async throws -> Int64? {
            let notes = try await place.store.notes(about: [key("1")])[key("1")]
            return notes?.newestStatement?.unixMilliseconds
        }
        for (number, seen) in [(5000, 5000), (3000, 5000), (7000, 7000)].enumerated() {
            let night = try await Night(place, "run-\(number)")
            var judged = outcome("1", .undecided(.unknownStatus))
            judged.statedAt = Timestamp(unixMilliseconds: Int64(seen.0))
            try await night.stage(judged)
            #expect(try await newest() == Int64(seen.1))
            try await night.conclude()
            #expect(try await newest() == Int64(seen.1))
        }
    }

    @Test(arguments: BooksPlace.allCases)
    func `a history is read on only from where a closed pass wrote all that it showed`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        for id in ["1", "2"] { try place.hold(subscription(id)) }
        func revisions() async throws -> [String: String] {
            try await place.store.notes(about: ["1", "2"].map(key)).reduce(into: [:]) {
                $0[$1.key.originalTransactionID] = $1.value.history?.revision
            }
        }
        let night = try await Night(place, "run-1")
        let one = try #require(try await night.row("1"))
        let mark = HistoryMark(revision: "r1", periods: one.periodsDigest)
        // The second correction names a version that the row does not have.
        try await night.stage(
            drift("1", version: one.row.rowVersion), drift("2", version: 99),
            marks: [key("1"): mark, key("2"): mark])
        try await night.apply()
        #expect(try await revisions() == [:])
        try await night.conclude()
        #expect(try await revisions() == ["1": "r1"])
    }

    @Test(arguments: BooksPlace.allCases)
    func `a row that stands for another subscription counts as long as it stands`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        try place.hold(subscription("9"))
        let night = try await Night(place, "run-1")
        var found = outcome("9", .discrepancy)
        var finding = Finding(
            kind: .invalidID, severity: .high, row: LocalSubscription(key: key("9")))
        finding.appleValue = .text("1")
        found.findings = [finding]
        try await night.stage(found)
        let notes = try await place.store.notes(about: [key("1"), key("2")])
        #expect(notes.mapValues(\.aliasRows) == [key("1"): [key("9")]])
        try place.remove(key("9"))
        #expect(
            try await place.store.notes(about: [key("1")])[key("1")]?.aliasRows ?? [] == [])
    }

    @Test(arguments: BooksPlace.allCases)
    func `of the last run of the job it says what was asked in vain`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        for id in ["1", "2", "3"] { try place.hold(subscription(id)) }
        let night = try await Night(place, "run-1")
        try await night.stage(
            outcome("1", .undecided(.unavailable)), outcome("2", .undecided(.contradiction)),
            outcome("3", .match))
        try await night.conclude()
        let keys = ["1", "2", "3"].map(key)
        let next = Night.header("run-2", after: 1)
        #expect(
            try await place.store.failedLastTime(among: keys, before: next) == [key("1")])
        let other = Night.header("run-3", after: 1, job: "backfill")
        #expect(try await place.store.failedLastTime(among: keys, before: other) == [])
    }
}
