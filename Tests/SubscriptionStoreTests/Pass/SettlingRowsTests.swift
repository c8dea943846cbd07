import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `Settling rows` {
    private func night(_ ids: [String]) async throws -> Night {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(ids.map { subscription($0) })
        var night = try await Night.begin(store, Night.header("run-1"))
        night.database = database
        return night
    }

    @Test func `the walk meets each unsettled row once in key order`() async throws {
        let night = try await night(["1", "2", "3", "4"])
        #expect(try await night.ids() == ["1", "2", "3", "4"])
        try await night.stage(outcome("1", .match), outcome("3", .match), through: "1")
        #expect(try await night.ids(after: "1") == ["2", "4"])
        #expect(try await night.ids(after: "4").isEmpty)
    }

    @Test func `the same missing subscription out of two answers is one finding`() async throws {
        let night = try await night(["1"])
        try await night.stage(outcome("1", .match), missing("9"))
        try await night.stage(missing("9"))
        let plan = try await night.store.planTotals(of: night.pass)
        #expect(plan.changes == 1)
        #expect(plan.totals.inScope == 1)
        #expect(try await night.store.unresolvedFindings(of: night.pass) == [.critical: 1])
        try await night.apply()
        #expect(try await night.store.unresolvedFindings(of: night.pass).isEmpty)
    }

    @Test func `the plan is counted for the guards`() async throws {
        let night = try await night(["1", "2", "3", "4", "5"])
        var absent = outcome("3", .discrepancy)
        absent.absence = .absent(day: "2026-11-20")
        var broken = outcome("4", .undecided(.verificationFailed))
        broken.findings = [
            Finding(kind: .verificationFailed, severity: .critical, row: subscription("4"))
        ]
        try await night.stage(
            outcome("1", .match), drift("2"), absent, broken, outcome("5", .excluded(.inFlight)))
        let plan = try await night.store.planTotals(of: night.pass)
        #expect(plan.changes == 1)
        #expect(plan.notFound == 1)
        #expect(plan.verificationFailures == 1)
        #expect(plan.totals.matched == 1)
        #expect(plan.totals.discrepant == 2)
        #expect(plan.totals.undecided == [.verificationFailed: 1])
        #expect(plan.totals.excluded == [.inFlight: 1])
    }

    @Test func `absences count distinct days and end when Apple knows the id`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        for (number, day) in ["2026-11-20", "2026-11-20", "2026-11-21"].enumerated() {
            let night = try await Night.begin(
                store, Night.header("run-\(number)", mode: number == 1 ? .check : .apply))
            var absent = outcome("1", .discrepancy)
            absent.absence = .absent(day: day)
            try await night.stage(absent)
            try await night.conclude()
        }
        var accounts: [NotFoundAccount] = []
        try store.runRecord(ofRun: "run-2").forEachNotFound { accounts.append($0) }
        #expect(
            accounts.first?.absence
                == AbsenceRecord(firstDay: "2026-11-20", lastDay: "2026-11-21", distinctDays: 2))
        #expect(accounts.first?.isConfirmed == false)
        #expect(accounts.first?.status == 1)
        #expect(try await store.scopedRows(["1"]).first?.absence?.distinctDays == 2)
        let night = try await Night.begin(store, Night.header("run-9"))
        var present = outcome("1", .match)
        present.absence = .present
        try await night.stage(present)
        #expect(try await store.scopedRows(["1"]).first?.absence == nil)
    }

    @Test(arguments: ["0", "000", "-", "none", ""])
    func `a placeholder is no line item that rows could share`(placeholder: String) async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(
            (1...30).map { number in
                var row = subscription("\(100 + number)")
                row.webOrderLineItemID = placeholder
                return row
            })
        let rows = try await store.rows(after: nil, limit: 100)
        #expect(rows.count == 30)
        #expect(rows.allSatisfy { $0.duplicates.isEmpty })
    }

    @Test func `of very many rows with one line item a few are named`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(
            (1...300).map { number in
                var row = subscription("\(1000 + number)")
                row.webOrderLineItemID = "61"
                return row
            })
        let rows = try await store.rows(after: nil, limit: 300)
        #expect(rows.allSatisfy { (1...50).contains($0.duplicates.count) })
    }

    @Test func `duplicates are told by original id and by line item`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        var twin = subscription("1")
        twin.key = SubscriptionKey(
            bundleID: "com.example.app", environment: "Sandbox", originalTransactionID: "1")
        var one = subscription("2")
        one.webOrderLineItemID = "61"
        var two = subscription("3")
        two.webOrderLineItemID = "61"
        var elsewhere = subscription("4")
        elsewhere.key = SubscriptionKey(
            bundleID: "com.example.other", environment: "Production", originalTransactionID: "4")
        elsewhere.webOrderLineItemID = "61"
        var empty = subscription("5")
        empty.webOrderLineItemID = ""
        var alsoEmpty = subscription("6")
        alsoEmpty.webOrderLineItemID = ""
        try store.load([subscription("1"), twin, one, two, elsewhere, empty, alsoEmpty])
        let rows = try await store.rows(after: nil, limit: 100)
        let duplicates = rows.map { row in (row.row.key, row.duplicates) }
        let found = duplicates.filter { !$0.1.isEmpty }
        #expect(found.map(\.0) == [key("1"), key("2"), key("3"), twin.key])
        #expect(found.map(\.1) == [[twin.key], [key("3")], [key("2")], [key("1")]])
    }

    @Test func `the walk passes a row whose id no text can carry`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try database.execute(
            """
            INSERT INTO subscriptions (bundle_id, environment, original_transaction_id)
            VALUES ('com.example.app', 'Production', '1' || char(0) || '2'),
                ('com.example.app', 'Production', CAST(x'31ff' AS TEXT)),
                ('com.example.app', 'Production', '2')
            """)
        var position: SubscriptionKey?
        var seen: [String] = []
        while seen.count < 10 {
            let page = try await store.rows(after: position, limit: 1)
            guard let row = page.first else { break }
            seen.append(row.row.key.originalTransactionID)
            position = row.row.key
        }
        #expect(seen == ["1", "31ff", "2"])
    }

    /// A row that stands under a later transaction's id of another subscription.
    private func aliasRow(_ id: String, of original: String) -> RowOutcome {
        var result = outcome(id, .discrepancy)
        var finding = Finding(
            kind: .invalidID, severity: .high, row: LocalSubscription(key: key(id)))
        finding.appleValue = .text(original)
        result.findings = [finding]
        return result
    }

    private func expectRefused(
        _ id: String, in night: Night, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(
            try await night.store.planTotals(of: night.pass).changes == 0,
            sourceLocation: sourceLocation)
        #expect(try await night.apply() == 0, sourceLocation: sourceLocation)
        let record = try await night.conclude()
        #expect(try record.entries().isEmpty, sourceLocation: sourceLocation)
        let found = try #require(
            try record.findings().first { $0.finding.key == key(id) },
            sourceLocation: sourceLocation)
        #expect(found.finding.action == .refused, sourceLocation: sourceLocation)
        #expect(found.finding.cause == Finding.causeAliasRow, sourceLocation: sourceLocation)
    }

    @Test func `a stand-in takes back what was planned for the true original before it`()
        async throws
    {
        let later = try await night(["1", "9"])
        try await later.stage(drift("1"))
        try await later.stage(aliasRow("9", of: "1"))
        try await expectRefused("1", in: later)
        let inserted = try await night(["2", "9"])
        try await inserted.stage(missing("1"))
        try await inserted.stage(aliasRow("9", of: "1"))
        try await expectRefused("1", in: inserted)
    }

    @Test(arguments: [false, true])
    func `and in the same batch, whichever comes first`(standInFirst: Bool) async throws {
        let night = try await night(["1", "9"])
        if standInFirst {
            try await night.stage(aliasRow("9", of: "1"), drift("1"))
        } else {
            try await night.stage(drift("1"), aliasRow("9", of: "1"))
        }
        try await expectRefused("1", in: night)
    }

    @Test func `a stand-in that is gone takes back nothing`() async throws {
        let night = try await night(["1"])
        try await night.stage(drift("1"), aliasRow("9", of: "1"))
        #expect(try await night.apply() == 1)
    }

    @Test func `nothing is written to a true original whose stand-in came after the plan`()
        async throws
    {
        let night = try await night(["1", "9"])
        try await night.stage(drift("1"))
        try #require(night.database).execute(
            "INSERT INTO trueup_stand_ins VALUES ('com.example.app', 'Production', '1', '9')")
        #expect(try await night.apply() == 1)
        #expect(try await night.conclude().fates() == [.stale])
        #expect(try await night.store.rows(holding: ["1"]).first?.row.status == 1)
    }
}
