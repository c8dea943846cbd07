import Reconciliation
import Subscriptions
import TestSupport
import Testing

@Suite struct `Findings by cause` {
    private func item(
        _ id: Int, _ kind: FindingKind = .accessMissing, correction: Int64? = nil,
        product: String? = "gold", amount: Int64? = nil
    ) -> FindingToExplain {
        var finding = Finding(
            kind: kind, severity: .high, bundleID: Sample.app.bundleID, environment: "Production")
        finding.key = SubscriptionKey(app: Sample.app, originalTransactionID: "\(1000 + id)")
        finding.productID = product
        finding.amount = amount
        finding.currency = amount.map { _ in "EUR" }
        finding.direction = .customerLoses
        return FindingToExplain(
            sequence: Int64(id), finding: finding, correction: correction, notifications: [])
    }

    private func refused(
        _ uuid: String, minute: Int64, isReported: Bool = false, retried: Bool = false
    ) -> FindingCause {
        var cause = FindingCause(text: "refused by us (X)", delivery: .refused)
        cause.result = "X"
        cause.attempt = Sample.now(minutes: minute)
        cause.isStillRetried = retried
        cause.notification = Told.notification("DID_RENEW", nil, uuid: uuid)
        cause.notification?.isReported = isReported
        return cause
    }

    @Test func `counts rows, corrections and notifications once each`() throws {
        var tally = CauseTally()
        tally.add(
            item(1, .notificationMissed, product: nil), refused("a", minute: 0, isReported: true))
        // Three findings of one row, two corrections; its notification has a finding of its own.
        tally.add(item(1, correction: 7, amount: 500), refused("a", minute: 0, isReported: true))
        tally.add(item(1, .expiry, correction: 7), refused("a", minute: 0, isReported: true))
        tally.add(
            item(1, .transactionMissing, correction: 8), refused("a", minute: 0, isReported: true))
        // Another row's was recovered on another night.
        tally.add(item(2, correction: 9, amount: 500), refused("b", minute: 3, retried: true))
        tally.add(item(2, .expiry, correction: 9), refused("b", minute: 3, retried: true))
        let cluster = try #require(tally.result.first)
        #expect(tally.result.count == 1)
        #expect(cluster.findings == 6)
        #expect(cluster.rows == 2)
        #expect(cluster.corrections == 3)
        #expect(cluster.correctedRows == 2)
        #expect(cluster.notifications == 2)
        #expect(cluster.stillRetried == 1)
        #expect(cluster.notificationTypes == ["DID_RENEW": 2])
        #expect(
            cluster.kinds == [
                "notification_missed": 1, "access_missing": 2, "expiry": 2,
                "transaction_missing": 1,
            ])
        #expect(
            cluster.money == [
                MoneyTotal(currency: "EUR", direction: .customerLoses, amount: 1000, findings: 2)
            ])
        #expect(cluster.bursts.map(\.notifications) == [2])
        #expect(cluster.firstAttempt == Sample.now)
        #expect(cluster.lastAttempt == Sample.now(minutes: 3))
        #expect(cluster.example == "1001")
    }

    @Test func `counts the rows that have a correction`() throws {
        var tally = CauseTally()
        tally.add(item(1, correction: 7), refused("a", minute: 0))
        tally.add(item(1, .transactionMissing, correction: 8), refused("a", minute: 0))
        tally.add(item(2), refused("b", minute: 0))
        let cluster = try #require(tally.result.first)
        #expect(cluster.rows == 2)
        #expect(cluster.corrections == 2)
        #expect(cluster.correctedRows == 1)
    }

    @Test(arguments: [(9, true), (8, false)])
    func `names a product that nine in ten share`(share: Int, isNamed: Bool) {
        var tally = CauseTally()
        for number in 0..<10 {
            tally.add(
                item(number, product: number < share ? "gold" : "silver"),
                FindingCause(text: "a"))
        }
        #expect(tally.result.first?.productID == (isNamed ? "gold" : nil))
    }

    @Test func `is the same in any order of rows`() {
        let rows = (0..<200).map { number in
            (
                item(number, correction: Int64(number), amount: Int64(number)),
                number % 3 == 0
                    ? FindingCause(text: "cause \(number % 7)")
                    : refused("\(number)", minute: Int64(number % 50))
            )
        }
        func result(_ rows: [(FindingToExplain, FindingCause)]) -> [CauseCluster] {
            var tally = CauseTally()
            for (item, cause) in rows { tally.add(item, cause) }
            return tally.result
        }
        let first = result(rows)
        #expect(first.count == 8)
        #expect(first.first?.cause == "refused by us (X)")
        var generator = SeededGenerator(seed: 9)
        for _ in 0..<5 { #expect(result(rows.shuffled(using: &generator)) == first) }
    }

    @Test func `holds no more causes than its limit, and loses no finding`() {
        var tally = CauseTally()
        for number in 0..<(CauseTally.causes + 40) {
            tally.add(item(number), FindingCause(text: "cause \(number)"))
        }
        let result = tally.result
        #expect(result.count == CauseTally.causes + 1)
        #expect(result.first?.cause == CauseTally.otherCauses)
        #expect(result.map(\.findings).reduce(0, +) == CauseTally.causes + 40)
    }

    @Test func `keeps apps and environments apart`() {
        var tally = CauseTally()
        var sandbox = item(1)
        sandbox.finding.environment = "Sandbox"
        tally.add(item(1), FindingCause(text: "a"))
        tally.add(sandbox, FindingCause(text: "a"))
        #expect(tally.result.map(\.environment) == ["Production", "Sandbox"])
    }
}
