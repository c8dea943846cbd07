import StoreSupport
import SubscriptionStore
import Subscriptions
import Testing

/// The promises of the store about findings that stay open over nights.
@Suite struct `The contract of open findings` {
    @Test(arguments: BooksPlace.allCases)
    func `an open finding stays with every job that has reported it`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        for id in ["1", "2"] { try place.hold(subscription(id)) }
        var refused = drift("1", version: 1)
        refused.corrections = []
        refused.examined = .statement
        refused.askedBecause = .never
        for (number, job) in ["nightly", "audit", "nightly", "backfill"].enumerated() {
            let night = try await Night(
                place, Night.header("run-\(number)", after: 25 * Int64(number), job: job))
            // The audit looks at it, too; the second night has no reason to.
            try await night.stage(number < 2 ? refused : outcome("2", .match))
            try await night.store.carryOpenFindings(in: night.pass, run: night.run)
            try await night.conclude()
            let isReported = job != "backfill"
            #expect(
                try place.report(ofRun: "run-\(number)")?.kinds
                    == (isReported ? [.accessUnpaid] : []), "\(job)")
        }
    }

    @Test(arguments: BooksPlace.allCases)
    func `an open finding is carried until somebody has looked`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        for id in ["1", "2"] { try place.hold(subscription(id)) }
        let first = try await Night(place, "run-1")
        var refused = drift("1", version: 1)
        refused.corrections = []
        refused.examined = .statement
        try await first.stage(refused, outcome("2", .match))
        try await first.conclude()
        for number in 2...4 {
            let night = try await Night(place, "run-\(number)", after: Int64(number) * 24)
            try await night.stage(outcome("2", .match))
            try await night.store.carryOpenFindings(in: night.pass, run: night.run)
            #expect(
                try await night.store.unresolvedFindings(of: night.pass) == [.high: 1])
            try await night.conclude()
            #expect(try place.report(ofRun: "run-\(number)")?.kinds == [.accessUnpaid])
        }
        let last = try await Night(place, "run-5", after: 120)
        var mended = outcome("1", .match)
        mended.examined = .statement
        try await last.stage(mended)
        try await last.store.carryOpenFindings(in: last.pass, run: last.run)
        #expect(try await last.store.unresolvedFindings(of: last.pass) == [:])
    }

    @Test(arguments: BooksPlace.allCases, ["whole", "check", "narrowed", "stopped", "guarded"])
    func `a finding about a row that is gone is closed by a whole run that knows the table`(
        store: BooksPlace, night: String
    ) async throws {
        let place = try store.place()
        for id in ["1", "2"] { try place.hold(subscription(id)) }
        let first = try await Night(place, "run-1")
        var wrong = outcome("1", .discrepancy)
        var finding = Finding(kind: .wrongApp, severity: .high, row: subscription("1"))
        finding.action = .refused
        wrong.findings = [finding]
        wrong.examined = .standing
        try await first.stage(wrong, outcome("2", .match))
        try await first.conclude(acceptedRows: 2)
        try place.remove(key("1"))
        let header = Night.header(
            "run-2", mode: night == "check" ? .check : .apply, after: 24
        ) { if night == "narrowed" { $0.filters = ["limit 1"] } }
        let next = try await Night(place, header)
        try await next.conclude(
            closes: night != "stopped", acceptedRows: night == "guarded" ? nil : 1)
        // Were it still open, a row of that key would have it again.
        try place.hold(subscription("1"))
        let last = try await Night(place, "run-3", after: 72)
        try await last.store.carryOpenFindings(in: last.pass, run: last.run)
        let isClosed = night == "whole"
        #expect(
            try await last.store.unresolvedFindings(of: last.pass)
                == (isClosed ? [:] : [.high: 1]))
    }

    @Test(arguments: BooksPlace.allCases)
    func `a subscription that is missing stays open without a row`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        try place.hold(subscription("2"))
        let first = try await Night(place, "run-1")
        var unheld = missing("1")
        unheld.corrections = []
        try await first.stage(unheld, outcome("2", .match))
        try await first.conclude(acceptedRows: 1)
        for number in 2...3 {
            let night = try await Night(place, "run-\(number)", after: Int64(number) * 24)
            try await night.store.carryOpenFindings(in: night.pass, run: night.run)
            #expect(
                try await night.store.unresolvedFindings(of: night.pass) == [.critical: 1])
            try await night.conclude(acceptedRows: 1)
        }
    }

    /// A difference that the settings only report, and a night that would have no reason to ask.
    private func reported(_ place: SQLitePlace) async throws {
        for id in ["1", "2", "3"] { try place.hold(subscription(id)) }
        let first = try await Night(place, Night.header("run-1") { $0.coversEveryRow = false })
        var refused = drift("1", version: 1)
        refused.corrections = []
        refused.examined = .statement
        refused.askedBecause = .never
        var account = outcome("2", .discrepancy)
        account.findings = [Finding(kind: .identity, severity: .critical, row: subscription("2"))]
        account.examined = .statement
        account.askedBecause = .never
        try await first.stage(refused, account)
        try await first.conclude()
        let next = try await Night(
            place, Night.header("run-2", after: 24) { $0.coversEveryRow = false })
        try await next.store.carryOpenFindings(in: next.pass, run: next.run)
        #expect(try await next.pending() == [])
        try await next.conclude()
    }

    @Test(arguments: BooksPlace.allCases)
    func `an open finding is asked about again where the settings decide otherwise`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        try await reported(place)
        func header(_ id: String, after hours: Int64) -> RunHeader {
            Night.header(id, after: hours) {
                $0.coversEveryRow = false
                $0.settingsDigest = "another"
            }
        }
        // Killed before it asked.
        #expect(try await Night(place, header("run-3", after: 48)).pending() == ["1"])
        let night = try await Night(place, header("run-4", after: 72))
        #expect(try await night.pending() == ["1"])
        try await night.stage(drift("1", version: 1))
        #expect(try await night.apply() == 1)
        try await night.store.carryOpenFindings(in: night.pass, run: night.run)
        #expect(try await night.store.unresolvedFindings(of: night.pass) == [.critical: 1])
        try await night.conclude()
        #expect(try await Night(place, header("run-5", after: 96)).pending() == [])
    }

    @Test(arguments: BooksPlace.allCases, ["check", "job", "narrowed"])
    func `an open finding is not asked about again by a run that decides nothing of it`(
        store: BooksPlace, kind: String
    ) async throws {
        let place = try store.place()
        try await reported(place)
        let header = Night.header("run-3", mode: kind == "check" ? .check : .apply, after: 48) {
            $0.coversEveryRow = false
            $0.settingsDigest = "another"
            if kind == "job" { $0.job = "backfill" }
            if kind == "narrowed" { $0.filters = ["limit 1"] }
        }
        #expect(try await Night(place, header).pending() == [])
    }

    /// A row that a night judged, and that only a check, or a narrowed run, found wrong since.
    private func onlyChecked(
        _ place: SQLitePlace, mode: RunMode = .check, filters: [String] = []
    ) async throws {
        for id in ["1", "2", "3"] { try place.hold(subscription(id)) }
        let first = try await Night(place, Night.header("run-1") { $0.coversEveryRow = false })
        // What was never judged is asked about anyway.
        try await first.stage(judged("1"), judged("2"))
        try await first.conclude()
        let looked = try await Night(
            place,
            Night.header("run-2", mode: mode, after: 24) {
                $0.coversEveryRow = false
                $0.filters = filters
            })
        try await looked.stage(wrong("1"), wrong("3"))
        try await looked.conclude()
    }

    private func judged(_ id: String) -> RowOutcome {
        var result = outcome(id, .match)
        result.examined = .statement
        result.askedBecause = .never
        result.check = RowCheck(
            signedDate: Timestamp(unixMilliseconds: 1000), clock: nil, isLasting: true,
            values: ValuesDigest(of: subscription(id)))
        return result
    }

    private func wrong(_ id: String) -> RowOutcome {
        var result = drift(id, version: 1)
        result.examined = .statement
        result.askedBecause = .changed
        return result
    }

    @Test(arguments: BooksPlace.allCases, ["check", "narrowed"])
    func `an open finding that only a check or a narrowed run saw is asked about again`(
        store: BooksPlace, kind: String
    ) async throws {
        let place = try store.place()
        if kind == "check" {
            try await onlyChecked(place)
        } else {
            try await onlyChecked(place, mode: .apply, filters: ["limit 2"])
        }
        // The company has mended the row: it is again as it was judged before.
        let night = try await Night(
            place, Night.header("run-3", after: 48) { $0.coversEveryRow = false })
        #expect(try await night.pending() == ["1"])
        try await night.stage(judged("1"))
        try await night.store.carryOpenFindings(in: night.pass, run: night.run)
        #expect(try await night.store.unresolvedFindings(of: night.pass) == [.high: 1])
        try await night.conclude()
        let next = try await Night(
            place, Night.header("run-4", after: 72) { $0.coversEveryRow = false })
        #expect(try await next.pending() == [])
    }

    @Test(arguments: BooksPlace.allCases)
    func `an open finding that only a check saw is asked about again by the next check`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        try await onlyChecked(place)
        for number in 3...4 {
            let check = try await Night(
                place,
                Night.header("run-\(number)", mode: .check, after: Int64(number) * 24) {
                    $0.coversEveryRow = false
                })
            #expect(try await check.pending() == ["1"])
            try await check.store.carryOpenFindings(in: check.pass, run: check.run)
            try await check.conclude()
        }
    }

    @Test(arguments: BooksPlace.allCases, ["job", "narrowed", "audit"])
    func `an open finding that only a check saw is not asked about by a run that is not of its job`(
        store: BooksPlace, kind: String
    ) async throws {
        let place = try store.place()
        try await onlyChecked(place)
        let header = Night.header("run-3", mode: kind == "audit" ? .check : .apply, after: 48) {
            $0.coversEveryRow = kind == "audit"
            if kind == "job" { $0.job = "backfill" }
            if kind == "narrowed" { $0.filters = ["limit 1"] }
        }
        #expect(try await Night(place, header).pending() == [])
    }
}
