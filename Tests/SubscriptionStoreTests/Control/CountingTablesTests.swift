import GRDB
import SubscriptionStore
import Subscriptions
import Testing

/// The control totals of runs on a database.
@Suite struct `Counting the tables` {
    private let database: TemporaryDatabase
    private let store: SQLiteStore

    init() throws {
        database = try TemporaryDatabase()
        store = try database.open()
        let statuses = [("1", 1), ("2", 1), ("3", 2), ("4", nil)]
        try store.load(
            statuses.map { id, status in
                var row = subscription(id, status: status)
                row.latestTransactionID = "p" + id
                return row
            })
        try addPeriod("p1", of: "1", price: "9990", currency: "'EUR'")
        try addPeriod("p2", of: "2", price: "538000", currency: "'JPY'")
        try addPeriod("p3", of: "3", price: "NULL", currency: "NULL")
    }

    private func addPeriod(
        _ id: String, of original: String, price: String, currency: String
    ) throws {
        try database.execute(
            """
            INSERT INTO transactions (transaction_id, original_transaction_id, environment,
                bundle_id, price, currency)
            VALUES ('\(id)', '\(original)', 'Production', '\(app.bundleID)', \(price), \(currency))
            """)
    }

    private func judged(
        _ outcome: RowOutcome, ours: Int64?, apple: Int?, price: Int64? = nil
    ) -> RowOutcome {
        var outcome = outcome
        outcome.figures = RowFigures(
            ourStatus: ours, statedStatus: apple, price: price,
            currency: price.map { _ in "EUR" })
        return outcome
    }

    private func totals(of record: SQLiteRunRecord) throws -> AppControlTotals {
        let control = try #require(try record.summary().control)
        #expect(control.apps.count == 1)
        return try #require(control.apps.first)
    }

    private static let counted = ControlSums(
        statuses: [1: 2, 2: 1, 0: 1],
        prices: [
            "EUR": .init(periods: 1, amount: 9_990), "JPY": .init(periods: 1, amount: 538_000),
            "": .init(periods: 1, amount: 0),
        ])

    @Test func `what stood before and what was written come to what stands`() async throws {
        let night = try await Night.begin(store, Night.header("run-1"))
        var period = missing("9").corrections[0]
        period.target = .insertPeriod(
            TransactionKey(
                bundleID: app.bundleID, environment: "Production", transactionID: "p9"),
            of: key("9"))
        period.changes = .period([
            .price: FieldChange(before: .null, after: .integer(4_990)),
            .currency: FieldChange(before: .null, after: .text("EUR")),
        ])
        var unheld = missing("9")
        unheld.corrections.append(period)
        try await night.stage(
            judged(drift("1"), ours: 1, apple: 2, price: 9_990),
            judged(outcome("2", .match), ours: 1, apple: 1, price: 5_000),
            judged(outcome("3", .discrepancy), ours: 2, apple: nil), unheld)
        try await night.apply()
        let totals = try totals(of: try await night.conclude())
        #expect(totals.previous == nil)
        #expect(totals.before == Self.counted)
        #expect(totals.corrections.statuses.filter { $0.value != 0 } == [2: 1])
        #expect(totals.corrections.prices == ["EUR": .init(periods: 1, amount: 4_990)])
        #expect(totals.after.statuses == [1: 2, 2: 2, 0: 1])
        #expect(totals.after.prices["EUR"] == .init(periods: 2, amount: 14_980))
        #expect(totals.othersMeanwhile.isNothing)
    }

    @Test func `both sides of judged rows are counted by themselves`() async throws {
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(
            judged(drift("1"), ours: 1, apple: 2, price: 9_990),
            judged(outcome("2", .match), ours: 1, apple: 1, price: 5_000),
            judged(outcome("3", .discrepancy), ours: 2, apple: nil),
            outcome("4", .undecided(.unavailable)))
        try await night.apply()
        let judged = try totals(of: try await night.conclude()).judged
        #expect(judged.before == ControlSums(statuses: [1: 2, 2: 1]))
        #expect(judged.apple.statuses == [1: 1, 2: 1, 0: 1])
        #expect(judged.apple.prices == ["EUR": .init(periods: 2, amount: 14_990)])
        #expect(judged.after.statuses == [1: 1, 2: 2])
        #expect(
            judged.after.prices == [
                "EUR": .init(periods: 1, amount: 9_990), "JPY": .init(periods: 1, amount: 538_000),
            ])
    }

    @Test func `what others wrote is told apart, between runs and meanwhile`() async throws {
        let first = try await Night.begin(store, Night.header("run-1"))
        try await first.conclude()
        try database.execute("UPDATE subscriptions SET status = 5 WHERE status = 2")
        let second = try await Night.begin(
            store, Night.header("run-2", at: Night.start + 1_000, job: "recover"))
        try await second.stage(judged(drift("1"), ours: 1, apple: 2))
        try await second.apply()
        try database.execute("DELETE FROM transactions WHERE currency = 'JPY'")
        let totals = try totals(of: try await second.conclude())
        #expect(totals.previous == .init(runID: "run-1", sums: Self.counted))
        #expect(totals.uncounted.isNothing)
        #expect(totals.othersSince?.statuses.filter { $0.value != 0 } == [2: -1, 5: 1])
        #expect(totals.othersMeanwhile.statuses.allSatisfy { $0.value == 0 })
        #expect(totals.othersMeanwhile.prices["JPY"] == .init(periods: -1, amount: -538_000))
    }

    @Test func `what a killed run wrote is nobody else's`() async throws {
        try await Night.begin(store, Night.header("run-1")).conclude()
        let killed = try await Night.begin(store, Night.header("run-2", at: Night.start + 1_000))
        try await killed.stage(judged(drift("1"), ours: 1, apple: 2))
        try await killed.apply()
        let third = try await Night.begin(store, Night.header("run-3", at: Night.start + 2_000))
        let totals = try totals(of: try await third.conclude())
        #expect(totals.previous?.runID == "run-1")
        #expect(totals.uncounted.statuses == [1: -1, 2: 1])
        #expect(totals.othersSince?.isNothing == true)
        #expect(totals.corrections.isNothing)
    }

    @Test func `a narrowed run counts nothing, and a later count knows what it wrote`() async throws
    {
        try await Night.begin(store, Night.header("run-1")).conclude()
        var header = Night.header("run-2", at: Night.start + 1_000)
        header.filters = ["id 1"]
        let narrowed = try await Night.begin(store, header)
        try await narrowed.stage(judged(drift("1"), ours: 1, apple: 2))
        try await narrowed.apply()
        #expect(try await narrowed.conclude().summary().control == nil)
        let third = try await Night.begin(store, Night.header("run-3", at: Night.start + 2_000))
        let totals = try totals(of: try await third.conclude())
        #expect(totals.uncounted.statuses == [1: -1, 2: 1])
        #expect(totals.othersSince?.isNothing == true)
    }

    @Test func `what is stored of a run stays, whatever comes after it`() async throws {
        let record = try await Night.begin(store, Night.header("run-1")).conclude()
        let before = try record.summary()
        try database.execute("DELETE FROM transactions; UPDATE subscriptions SET status = 3")
        try await Night.begin(store, Night.header("run-2", at: Night.start + 1_000)).conclude()
        #expect(try record.summary() == before)
    }

    @Test func `a run of an earlier version has no totals`() async throws {
        let record = try await Night.begin(store, Night.header("run-1")).conclude()
        try database.execute(
            "UPDATE trueup_runs SET counted = NULL, control = NULL, measures = NULL")
        let summary = try record.summary()
        #expect(summary.control == nil)
        #expect(summary.measures == nil)
    }

    @Test func `strange values of the company's are counted as none`() async throws {
        try database.execute(
            """
            UPDATE subscriptions SET status = 'often' WHERE original_transaction_id = '1';
            UPDATE subscriptions SET status = 77 WHERE original_transaction_id = '2';
            UPDATE transactions SET price = 'much', currency = 'Taler' WHERE transaction_id = 'p1';
            UPDATE transactions SET price = 9223372036854775807, currency = 'EUR'
                WHERE transaction_id IN ('p2', 'p3')
            """)
        let night = try await Night.begin(store, Night.header("run-1"))
        let totals = try totals(of: try await night.conclude())
        #expect(totals.after.statuses == [2: 1, 0: 3])
        #expect(totals.after.prices[""] == .init(periods: 1, amount: 0))
        #expect(totals.after.prices["EUR"] == .init(periods: 2, amount: .max))
    }

    // MARK: Apps that are not configured

    private func addRow(_ id: String, bundle: String, status: Int) throws {
        try database.execute(
            """
            INSERT INTO subscriptions (original_transaction_id, environment, bundle_id, status)
            VALUES ('\(id)', 'Production', '\(bundle)', \(status))
            """)
    }

    @Test func `rows of apps that are not configured are counted, each app by itself`() async throws
    {
        try addRow("5", bundle: "com.example.old", status: 2)
        try addRow("6", bundle: "com.example.old", status: 4)
        let night = try await Night.begin(store, Night.header("run-1"))
        let stray = RowOutcome(
            key: SubscriptionKey(
                bundleID: "com.example.old", environment: "Production",
                originalTransactionID: "5"), verdict: .discrepancy)
        try await night.stage(judged(stray, ours: 2, apple: 1))
        let control = try #require(try await night.conclude().summary().control)
        #expect(control.apps.map(\.bundleID) == [app.bundleID, "com.example.old"])
        let old = try #require(control.apps.last)
        #expect(old.before.statuses == [2: 1, 4: 1])
        #expect(old.after == old.before)
        #expect(old.judged.before.statuses == [2: 1])
        #expect(old.judged.apple.statuses == [1: 1])
        let rows = try database.value("SELECT count(*) FROM subscriptions")
        #expect(control.apps.map(\.after.rows).reduce(0, +) == rows.flatMap(Int.init))
    }

    @Test func `rows of such an app that are gone were written by others`() async throws {
        try addRow("5", bundle: "com.example.old", status: 2)
        try await Night.begin(store, Night.header("run-1")).conclude()
        try database.execute("DELETE FROM subscriptions WHERE bundle_id = 'com.example.old'")
        let night = try await Night.begin(store, Night.header("run-2", at: Night.start + 1_000))
        let control = try #require(try await night.conclude().summary().control)
        let old = try #require(control.apps.first { $0.bundleID == "com.example.old" })
        #expect(old.othersSince?.statuses == [2: -1])
        #expect(old.after.isNothing)
    }

    @Test func `many such apps count as one, and the sum stays that of the table`() async throws {
        try await Night.begin(store, Night.header("run-1")).conclude()
        for number in 100..<130 {
            try addRow("\(number)", bundle: "com.example.\(number)", status: 1 + number % 2)
        }
        let night = try await Night.begin(store, Night.header("run-2", at: Night.start + 1_000))
        let control = try #require(try await night.conclude().summary().control)
        #expect(control.apps.map(\.bundleID) == ["", app.bundleID])
        #expect(control.apps.first?.after.statuses == [1: 15, 2: 15])
        #expect(control.apps.map(\.after.rows).reduce(0, +) == 34)
    }

    @Test func `a run that only reads notifications counts nothing`() async throws {
        try await Night.begin(store, Night.header("run-1")).conclude()
        var header = Night.header("run-2", at: Night.start + 1_000, job: "recover")
        header.countsTables = false
        let hourly = try await Night.begin(store, header)
        try await hourly.stage(judged(drift("1"), ours: 1, apple: 2))
        try await hourly.apply()
        #expect(try await hourly.conclude().summary().control == nil)
        let third = try await Night.begin(store, Night.header("run-3", at: Night.start + 2_000))
        let totals = try totals(of: try await third.conclude())
        #expect(totals.previous?.runID == "run-1")
        #expect(totals.uncounted.statuses == [1: -1, 2: 1])
        #expect(totals.othersSince?.isNothing == true)
    }
}
