import Reconciliation
import Subscriptions
import Testing

/// Counting signed statements by product and day, and holding App Store Connect's sums against them.
@Suite struct `A comparison of sums` {
    private static let product = "pro.monthly"
    private static let appleID = "6400000001"

    private static func at(_ text: String) -> Timestamp {
        Timestamp(rfc3339: text) ?? Timestamp(unixMilliseconds: 0)
    }

    private static func day(_ text: String) -> Int64 { at(text + "T00:00:00Z").dayNumber }

    private struct Period {
        var begin: String
        var end: String
        var product = `A comparison of sums`.product
        var offer: Int?
        var price: Int64 = 9990
        var revoked: String?
    }

    private static func row(
        _ periods: [Period]?, status: Int = 1, renews: Bool = true,
        signed: String? = "2026-11-25T00:00:00Z", family: Bool = false, sandbox: Bool = false,
        grace: String? = nil
    ) -> SalesSubscription {
        let environment = sandbox ? "Sandbox" : "Production"
        var local = LocalSubscription(
            key: SubscriptionKey(
                bundleID: "com.example", environment: environment, originalTransactionID: "1"))
        local.productID = periods?.last?.product ?? product
        local.status = status
        local.autoRenewStatus = renews ? 1 : 0
        local.expiresDate = (periods?.last?.end).map(at)
        local.gracePeriodExpiresDate = grace.map(at)
        local.inAppOwnershipType = family ? "FAMILY_SHARED" : "PURCHASED"
        let transactions = periods?.enumerated().map { index, period in
            var transaction = LocalTransaction(
                key: TransactionKey(
                    bundleID: "com.example", environment: environment,
                    transactionID: String(index + 1)), originalTransactionID: "1")
            transaction.productID = period.product
            transaction.purchaseDate = at(period.begin)
            transaction.expiresDate = at(period.end)
            transaction.revocationDate = period.revoked.map(at)
            transaction.offerType = period.offer
            transaction.price = period.price
            return transaction
        }
        return SalesSubscription(local, signedDate: signed.map(at), periods: transactions)
    }

    private static func compare(
        _ rows: [SalesSubscription], _ lines: [SalesLine], zone: SalesZone = .utc,
        products: [String: String] = [appleID: product], history: [SalesDay] = []
    ) -> SalesComparison {
        var sums = SalesSums()
        for line in lines { #expect(sums.add(line, ofFile: 0) == nil) }
        var counter = SalesCounter(days: sums.allDays, zone: zone)
        for row in rows { counter.add(row) }
        return SalesComparison(
            sums, own: counter, products: products, today: day("2026-11-25"), history: history)
    }

    private static func states(
        _ counts: [SalesMeasure: Int64], on text: String = "2026-11-20"
    ) -> SalesLine {
        SalesLine(report: .subscription, appleID: appleID, day: day(text), counts: counts)
    }

    private static func event(
        _ measure: SalesMeasure, _ count: Int64, on text: String = "2026-11-20"
    ) -> SalesLine {
        SalesLine(report: .event, appleID: appleID, day: day(text), counts: [measure: count])
    }

    private static let month = Period(begin: "2026-11-01T10:00:00Z", end: "2026-12-01T10:00:00Z")

    @Test(arguments: [
        ("2026-03-08", 8), ("2026-03-09", 7), ("2026-11-01", 7), ("2026-11-02", 8),
        ("2027-03-14", 8), ("2027-03-15", 7), ("2026-07-01", 7), ("2026-01-01", 8),
    ]) func `begins Pacific days as daylight saving time has them`(text: String, hours: Int64) {
        let start = SalesZone.pacific.start(ofDay: Self.day(text))
        #expect(start == Self.at(text + "T00:00:00Z").adding(milliseconds: hours * 3_600_000))
    }

    @Test func `counts states at the end of the day`() {
        var trial = Self.month
        (trial.offer, trial.price) = (1, 0)
        let ended = Period(begin: "2026-10-15T10:00:00Z", end: "2026-11-15T10:00:00Z")
        var refunded = Self.month
        refunded.revoked = "2026-11-20T05:00:00Z"
        let compared = Self.compare(
            [
                Self.row([Self.month]), Self.row([trial]), Self.row([refunded], status: 5),
                Self.row([ended], status: 3),
                Self.row([ended], status: 4, grace: "2026-12-01T10:00:00Z"),
                Self.row([ended], status: 2, renews: false),
                Self.row([Self.month], family: true), Self.row([Self.month], sandbox: true),
            ],
            [
                Self.states([
                    .standard: 1, .introductoryFree: 1, .billingRetry: 1, .gracePeriod: 1,
                ])
            ])
        #expect(compared.differences == [])
        #expect(compared.totals.matched == 1)
        #expect(compared.totals.exitStatus == .ok)
    }

    @Test func `tells events apart by the periods`() {
        func second(_ begin: String, _ product: String = Self.product) -> [Period] {
            [
                Period(begin: "2026-10-20T10:00:00Z", end: "2026-11-20T10:00:00Z"),
                Period(begin: begin, end: "2026-12-20T10:00:00Z", product: product),
            ]
        }
        let compared = Self.compare(
            [
                Self.row([Period(begin: "2026-11-20T01:00:00Z", end: "2026-12-20T01:00:00Z")]),
                Self.row(second("2026-11-20T10:00:00Z")), Self.row(second("2026-11-20T23:00:00Z")),
                Self.row(second("2026-11-20T10:00:00Z", "pro.yearly")),
                Self.row([second("")[0]], status: 2, renews: false),
            ],
            [
                Self.event(.new, 1), Self.event(.renewed, 1), Self.event(.recovered, 1),
                Self.event(.cancelled, 1),
                SalesLine(
                    report: .event, appleID: "2", day: Self.day("2026-11-20"),
                    counts: [.changed: 1]),
                SalesLine(
                    report: .event, appleID: Self.appleID, day: Self.day("2026-11-20"), counts: [:]
                ),
            ], products: [Self.appleID: Self.product, "2": "pro.yearly"])
        #expect(compared.differences == [])
        #expect(compared.totals.matched == 5)
        #expect(compared.totals.reasons == [.eventNotSigned: 1])
    }

    @Test func `explains a difference as far as it can`() throws {
        // In UTC it is bought on the 20th, in Pacific time on the 19th.
        let early = Period(begin: "2026-11-20T03:00:00Z", end: "2026-12-20T03:00:00Z")
        let compared = Self.compare(
            [Self.row([early]), Self.row([early], family: true)], [Self.event(.new, 5)])
        let difference = try #require(compared.differences.first)
        #expect(compared.differences.count == 1)
        #expect(difference.kind == .salesEvent)
        #expect(difference.theirs == .integer(5))
        #expect(difference.apple == .integer(1))
        #expect(difference.sales?.explained == [.familyShared: 1])
        #expect(difference.sales?.unexplained == 3)
        #expect(difference.sales?.lines == 1)
        let zone = Self.compare([Self.row([early])], [Self.event(.new, 3)], zone: .pacific)
        #expect(zone.differences.first?.apple == .integer(0))
        #expect(zone.differences.first?.sales?.explained == [.timeZone: 1])
        #expect(zone.differences.first?.sales?.unexplained == 2)
        // Five days later 2 of 1,000 entries are still missing, rounded up.
        let noon = Period(begin: "2026-11-20T12:00:00Z", end: "2026-12-20T12:00:00Z")
        let late = Self.compare([Self.row([noon]), Self.row([noon])], [Self.event(.new, 0)])
        #expect(late.differences.first?.sales?.explained == [.settlement: 1])
    }

    @Test func `makes no difference of rows that no statement covers`() {
        let unchecked = Self.row(nil, signed: nil)
        let undecided = Self.compare(
            [Self.row([Self.month]), unchecked], [Self.states([.standard: 2])])
        #expect(undecided.differences == [])
        #expect(undecided.totals.reasons == [.rowsUnchecked: 1])
        #expect(undecided.totals.exitStatus == .incomplete)
        let more = Self.compare(
            [Self.row([Self.month]), unchecked], [Self.states([.standard: 4])])
        #expect(more.differences.map(\.kind) == [.salesActive, .salesPopulation])
        #expect(more.differences.first?.sales?.explained == [.unchecked: 1])
        #expect(more.unseen == 2)
        // A payment may have failed between two periods: Apple's report knows.
        let gap = [
            Period(begin: "2026-10-15T10:00:00Z", end: "2026-11-15T10:00:00Z"),
            Period(begin: "2026-11-22T10:00:00Z", end: "2026-12-22T10:00:00Z"),
        ]
        let recovered = Self.compare([Self.row(gap)], [Self.states([.gracePeriod: 1])])
        #expect(recovered.differences == [])
        #expect(recovered.totals.reasons == [.rowsUnchecked: 1])
        // A statement from before the end of the day leaves the day open.
        let old = Self.compare(
            [Self.row([Self.month], signed: "2026-11-20T20:00:00Z")], [Self.states([.standard: 0])])
        #expect(old.totals.reasons == [.rowsUnchecked: 1])
    }

    @Test func `counts a row without a product as one that may be of every product`() {
        var unknown = Self.row(nil, signed: nil)
        unknown.productID = nil
        let rows = [Self.row([Self.month]), unknown]
        let undecided = Self.compare(rows, [Self.states([.standard: 2])])
        #expect(undecided.differences == [])
        #expect(undecided.totals.reasons == [.rowsUnchecked: 1])
        #expect(undecided.unseen == 0)
        let more = Self.compare(rows, [Self.states([.standard: 4])])
        #expect(more.differences.map(\.kind) == [.salesActive, .salesPopulation])
        #expect(more.differences.map { $0.apple } == [.integer(1), .integer(1)])
        #expect(more.differences.map { $0.sales?.explained } == [[.unchecked: 1], [.unchecked: 1]])
        #expect(more.differences.map { $0.sales?.unexplained } == [2, 2])
        #expect(more.unseen == 2)
        // Of two products it can be one only.
        let yearly = SalesLine(
            report: .subscription, appleID: "2", day: Self.day("2026-11-20"),
            counts: [.standard: 3])
        let both = Self.compare(
            rows, [Self.states([.standard: 4]), yearly],
            products: [Self.appleID: Self.product, "2": "pro.yearly"])
        #expect(both.unseen == 5)
        var counter = SalesCounter(days: [Self.day("2026-11-20")], zone: .utc)
        for row in rows { counter.add(row) }
        #expect(counter.rowsWithoutProduct == 1)
    }

    @Test func `finds fewer than signed statements beside rows that no statement covers`() {
        // Rows without a statement are not counted, so they cannot explain that Apple counts fewer.
        let unchecked = [Self.row(nil, signed: nil), Self.row(nil), Self.row(nil, status: 3)]
        let compared = Self.compare(
            [Self.row([Self.month]), Self.row([Self.month])] + unchecked,
            [Self.states([.standard: 1])])
        #expect(compared.differences.map(\.kind) == [.salesActive])
        #expect(compared.differences.first?.sales?.unexplained == 1)
        #expect(compared.differences.first?.sales?.explained == [:])
        // In a billing retry the statement does not say how long the grace period before was.
        let ended = Period(begin: "2026-10-15T10:00:00Z", end: "2026-11-15T10:00:00Z")
        let retry = Self.row([ended], status: 3, signed: "2026-11-21T20:00:00Z")
        let grace = Self.compare([retry], [Self.states([.gracePeriod: 1], on: "2026-11-17")])
        #expect(grace.differences == [])
        #expect(grace.totals.reasons == [.rowsUnchecked: 1])
        let both = Self.compare(
            [retry], [Self.states([.gracePeriod: 1, .billingRetry: 2], on: "2026-11-17")])
        #expect(both.differences.map(\.field) == ["billing_retry", "subscriptions"])
    }

    @Test func `counts a row once whose statement is older than the end of the day`() {
        let rows = Array(
            repeating: Self.row([Self.month], signed: "2026-11-20T20:00:00Z"), count: 9)
        #expect(Self.compare(rows, [Self.states([.standard: 9])]).totals.matched == 1)
        // The rows are in the number already, so they cannot explain that Apple counts more.
        let more = Self.compare(rows, [Self.states([.standard: 16])])
        #expect(more.differences.map(\.kind) == [.salesActive, .salesPopulation])
        #expect(more.differences.map { $0.apple } == [.integer(9), .integer(9)])
        #expect(more.differences.first?.sales?.explained == [:])
        #expect(more.unseen == 7)
        // A payment may have failed after the statement.
        let failed = Self.compare(rows, [Self.states([.standard: 7, .billingRetry: 2])])
        #expect(failed.differences == [])
        #expect(failed.totals.reasons == [.rowsUnchecked: 1])
        let beyond = Self.compare(rows, [Self.states([.standard: 9, .billingRetry: 2])])
        #expect(beyond.differences.map(\.kind) == [.salesPopulation])
        #expect(beyond.totals.different == 1)
        // The next day begins later than the statement, and the period still runs.
        let later = Self.compare(
            rows, [Self.states([.standard: 9]), Self.states([.standard: 10], on: "2026-11-21")])
        #expect(later.totals.matched == 1)
        #expect(later.differences.map { $0.sales?.day } == ["2026-11-21", "2026-11-21"])
    }

    @Test func `keeps totals that tie out`() {
        let unknown = SalesLine(
            report: .subscription, appleID: "3", day: Self.day("2026-11-20"),
            counts: [.standard: 4])
        let unmapped = SalesLine(
            report: .subscription, appleID: "9", day: Self.day("2026-11-20"),
            counts: [.standard: 4])
        let compared = Self.compare(
            [Self.row([Self.month])],
            [
                Self.states([.standard: 2]), Self.states([.standard: 1]), unknown, unmapped,
                Self.event(.renewed, 0), Self.event(.refunded, 2),
            ], products: [Self.appleID: Self.product, "3": "never.sold"])
        let totals = compared.totals
        #expect(totals.lines == 6)
        #expect(totals.matched == 1)
        #expect(totals.different == 3)
        #expect(totals.onlyTheirs == 1)
        #expect(totals.reasons == [.productNotMapped: 1])
        #expect(
            compared.differences.map(\.kind)
                == [.salesPopulation, .salesActive, .salesPopulation, .salesRefund])
        let lines = compared.differences.map { $0.sales?.lines ?? 0 }
        #expect(lines == [1, 2, 0, 1])
        #expect(compared.unmapped == ["9"])
        #expect(compared.counts.allSatisfy { !$0.sentence.isEmpty })
    }

    @Test func `reports a signed number that no line has`() throws {
        let bought = Period(begin: "2026-11-20T03:00:00Z", end: "2026-12-20T03:00:00Z")
        let compared = Self.compare([Self.row([bought])], [Self.event(.renewed, 0)])
        #expect(compared.totals.onlyApple == 1)
        #expect(compared.totals.matched == 1)
        let difference = try #require(compared.differences.first)
        #expect(difference.theirs == .null)
        #expect(difference.apple == .integer(1))
        #expect(difference.field == "new")
    }

    @Test func `finds what a report without a line lacks`() {
        let day = Self.day("2026-11-20")
        func compare(_ rows: [SalesSubscription]) -> SalesComparison {
            var sums = SalesSums()
            sums.cover(day, by: .subscription)
            var counter = SalesCounter(days: [day], zone: .utc)
            for row in rows { counter.add(row) }
            return SalesComparison(
                sums, own: counter, products: [Self.appleID: Self.product],
                today: Self.day("2026-11-25"), history: [])
        }
        let found = compare([Self.row([Self.month])])
        #expect(found.differences.map(\.field) == ["active_standard_price"])
        #expect(found.totals.lines == 0)
        #expect(found.totals.exitStatus == .findings)
        #expect(compare([]).totals.exitStatus == .empty)
    }

    @Test func `shows the earlier days of a difference`() {
        func earlier(_ day: String) -> SalesDay {
            SalesDay(
                day: day, measure: "active_standard_price", theirs: 5, apple: 3, unexplained: 2,
                productID: Self.product)
        }
        let compared = Self.compare(
            [Self.row([Self.month])], [Self.states([.standard: 0])],
            history: [earlier("2026-11-18"), earlier("2026-11-19"), earlier("2026-11-21")])
        #expect(
            compared.differences.first?.sales?.history.map(\.day) == ["2026-11-18", "2026-11-19"])
    }

    @Test func `counts no line twice`() {
        var sums = SalesSums()
        #expect(sums.add(Self.states([.standard: 1]), ofFile: 0) == nil)
        #expect(sums.add(Self.states([.standard: 1]), ofFile: 0) == nil)
        #expect(sums.add(Self.states([.standard: 1]), ofFile: 1) == 0)
        #expect(sums.lineCount == 2)
    }
}
