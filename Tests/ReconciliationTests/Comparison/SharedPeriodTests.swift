import Reconciliation
import Subscriptions
import Testing

/// What a row must become, by Apple's facts about seats alone: the purchaser loses access when every
/// purchase of the period is revoked, and by nothing else; an answer may show any of the purchases,
/// and any of their ids is right.
@Suite struct `A period of several purchases` {
    /// A period, which of its purchases an answer shows, and which one our row names.
    struct Answer: Hashable, Sendable, CustomStringConvertible {
        var period: GroupPeriod
        var shown: [Int]
        var description: String { "\(period), shown: \(shown)" }

        static let all: [Answer] = GroupPeriod.all.flatMap { period in
            let count = period.revoked.count
            return (1..<(1 << count)).map { bits in
                Answer(period: period, shown: (0..<count).filter { bits & (1 << $0) != 0 })
            }
        }

        /// Whether the purchaser has lost access, which Apple knows.
        var isLost: Bool { period.revoked.allSatisfy { $0 == .all } }

        /// Whether a purchase that remains stands in the answer itself.
        var showsRemaining: Bool { shown.contains { period.revoked[$0] != .all } }

        /// A single purchase is never marked as one of several.
        var isSingle: Bool { period.revoked.count == 1 }

        func statements(_ status: SubscriptionStatus) -> [StatedSubscription] {
            shown.map { period.statement(showing: $0, status: status) }
        }

        /// Our row before the refunds: active, by one of the purchases.
        func row(naming purchase: Int) -> LocalSubscription {
            Sample.row(of: period.statement(showing: purchase, status: .active)) {
                $0.revocationDate = nil
                ($0.quantity, $0.revokedSeats) = period.seats
            }
        }
    }

    @Test func `is tried in every combination`() {
        // One to three purchases, three refunds each, every choice of what is shown, two line items.
        #expect(Answer.all.count == 2 * (3 * 1 + 9 * 3 + 27 * 7))
        #expect(Set(Answer.all).count == Answer.all.count)
    }

    @Test(arguments: Answer.all)
    func `ends access when all of it is revoked, by the whole history`(answer: Answer) throws {
        let stated = answer.statements(answer.isLost ? .revoked : .active)
        for ours in answer.period.revoked.indices {
            var item = Sample.item(answer.row(naming: ours), stated)
            item.history = .complete(answer.period.transactions.reversed())
            let outcome = try outcome(item)
            guard answer.isLost else {
                #expect(outcome.verdict == .match, "\(answer), ours \(ours)")
                #expect(outcome.findings.isEmpty && outcome.corrections.isEmpty)
                continue
            }
            #expect(outcome.kinds == [.revocationMissed], "\(answer), ours \(ours)")
            let changes = try outcome.changes()
            #expect(changes["status"] == "5")
            // Access ended with the last refund, which is the first purchase's.
            #expect(
                changes["revocation_date"] == GroupPeriod.revocationDate(of: 0).rfc3339)
            // Any id of the period is right, so ours stays.
            #expect(changes["latest_transaction_id"] == nil)
            #expect(changes["web_order_line_item_id"] == nil)
            #expect(outcome.hasAllEvidence)
        }
    }

    @Test(arguments: Answer.all, [HistoryUse.whenNeeded, .never])
    func `decides by the answer alone only what it shows`(
        answer: Answer, use: HistoryUse
    ) throws {
        let stated = answer.statements(answer.isLost ? .revoked : .active)
        let policy = Sample.policy { $0.history = use }
        for ours in answer.period.revoked.indices {
            var item = Sample.item(answer.row(naming: ours), stated)
            let needsOthers = !answer.isSingle && !answer.showsRemaining
            if use == .whenNeeded, needsOthers {
                #expect(nextQuestion(for: item, policy: policy) == .history(after: nil))
            }
            if use == .whenNeeded { item.history = .incomplete("a page is missing") }
            let outcome = try outcome(item, policy)
            if needsOthers {
                #expect(outcome.verdict == .undecided(.periodNotShown), "\(answer)")
                #expect(outcome.findings.isEmpty && outcome.corrections.isEmpty)
            } else if answer.isLost {
                #expect(outcome.kinds == [.revocationMissed], "\(answer)")
            } else {
                #expect(outcome.verdict == .match, "\(answer), ours \(ours)")
                #expect(outcome.findings.isEmpty && outcome.corrections.isEmpty)
            }
        }
    }

    /// Only TLS protects the status: whatever number stands beside the purchases.
    @Test(arguments: Answer.all)
    func `never ends access while a purchase remains, whatever the status`(
        answer: Answer
    ) throws {
        guard !answer.isLost else { return }
        let all = answer.period.transactions
        for number in 1...6 {
            let stated = answer.statements(SubscriptionStatus(rawValue: number))
            for history in [
                nil, HistoryReading.complete(all), .since(revision: "r", all),
                .incomplete("a page is missing"),
            ] {
                var item = Sample.item(answer.row(naming: 0), stated)
                item.history = history
                let outcome = try outcome(item)
                #expect(outcome.corrections.isEmpty, "\(answer), status \(number)")
            }
        }
    }

    @Test(arguments: Answer.all)
    func `gives access back that one refund of several ended`(answer: Answer) throws {
        guard !answer.isLost else { return }
        let stated = answer.statements(.active)
        let row = Sample.row(of: stated[0]) {
            $0.status = 5
            $0.revocationDate = Sample.now(days: -1)
            ($0.quantity, $0.revokedSeats) = answer.period.seats
        }
        var item = Sample.item(row, stated)
        item.history = .complete(answer.period.transactions)
        let outcome = try outcome(item)
        #expect(outcome.kinds == [.refundReversalMissed], "\(answer)")
        let changes = try outcome.changes()
        #expect(changes["status"] == "1" && changes["revocation_date"] == "")
    }

    @Test func `leaves our id from night to night, whichever purchase is shown`() throws {
        let period = GroupPeriod(revoked: [.none, .none, .none])
        // Else the history is read each time, because only it gives the number of seats.
        let policy = Sample.policy { $0.kept.leftOut = SubscriptionField.optional }
        for ours in 0..<3 {
            let row = Answer(period: period, shown: [0]).row(naming: ours)
            for shown in 0..<3 {
                var item = Sample.item(row, [period.statement(showing: shown, status: .active)])
                // The first time the history tells, and then nothing is asked.
                item.history = shown == ours ? nil : .complete(period.transactions)
                let first = try outcome(item, policy)
                #expect(first.verdict == .match && first.corrections.isEmpty)
                let check = try #require(first.check)
                item.history = nil
                item.asked?.check = CheckRecord(check: check, askedAt: Sample.now)
                #expect(nextQuestion(for: item, policy: policy) == nil)
                let second = try outcome(item, policy)
                #expect(second.verdict == .match && second.corrections.isEmpty)
                #expect(second.check?.values == check.values)
            }
        }
    }

    @Test func `is not what another period's id belongs to`() throws {
        let period = GroupPeriod(revoked: [.none, .none])
        let row = Answer(period: period, shown: [0]).row(naming: 0)
        var foreign = row
        foreign.latestTransactionID = "1"
        foreign.webOrderLineItemID = "2"
        var item = Sample.item(foreign, [period.statement(showing: 1, status: .active)])
        #expect(nextQuestion(for: item, policy: Sample.policy()) == .history(after: nil))
        item.history = .complete(period.transactions)
        let outcome = try outcome(item)
        #expect(outcome.kinds == [.latestTransaction])
        let mended = foreign.applying(outcome.corrections)
        let ids = period.transactions.map { [$0.transactionID, $0.webOrderLineItemID] }
        #expect(ids.contains([mended.latestTransactionID, mended.webOrderLineItemID]))
        // The renewal after it is another period, whose ids are written with its end.
        var renewed = period.statement(showing: 0, status: .active)
        renewed.transaction.transactionID = "9"
        renewed.transaction.webOrderLineItemID = "10"
        renewed.transaction.seats?.sharesPeriod = false
        renewed.transaction.expiresDate = Sample.now(days: 50)
        let later = try ReconciliationTests.outcome(row, beside: renewed)
        #expect(later.kinds == [.expiry])
        #expect(try later.changes()["latest_transaction_id"] == "9")
        #expect(try later.changes()["web_order_line_item_id"] == "10")
    }

    @Test func `counts the price of the purchase that our row names`() throws {
        let period = GroupPeriod(revoked: [.none, .none])
        for ours in 0...1 {
            var item = Sample.item(
                Answer(period: period, shown: [0]).row(naming: ours),
                [period.statement(showing: 0, status: .active)])
            item.history = .complete(period.transactions)
            let outcome = try outcome(item)
            #expect(outcome.figures?.price == 20_000 + Int64(ours))
        }
    }

    @Test func `is held by one row or by one for each purchase`() throws {
        for sharesLineItem in [false, true] {
            let period = GroupPeriod(revoked: [.none, .some], sharesLineItem: sharesLineItem)
            let rows = period.transactions.map { Sample.period(of: $0) }
            var whole = rows[0]
            whole.price = 40_001
            var average = rows[1]
            average.price = 4_000
            for periods in [rows, [rows[0]], [rows[1]], [whole], [rows[0], average]] {
                #expect(try kinds(of: period, beside: periods) == [])
            }
            var wrong = rows[1]
            wrong.price = 1
            #expect(try kinds(of: period, beside: [rows[0], wrong]) == [.price])
            #expect(try kinds(of: period, beside: [wrong]) == [.price])
        }
    }

    private func kinds(
        of period: GroupPeriod, beside periods: [LocalTransaction]
    ) throws -> [FindingKind] {
        var item = Sample.item(
            Answer(period: period, shown: [0]).row(naming: 0),
            [period.statement(showing: 0, status: .active)])
        item.asked?.periods = periods
        item.history = .complete(period.transactions)
        let outcome = try outcome(item)
        #expect(outcome.corrections.allSatisfy { $0.kinds.isEmpty })
        return outcome.kinds
    }

    @Test func `is taken in with each of its purchases`() throws {
        let period = GroupPeriod(revoked: [.none, .none, .none])
        var item = Sample.item(
            Answer(period: period, shown: [1]).row(naming: 1),
            [period.statement(showing: 1, status: .active)])
        item.history = .complete(period.transactions)
        let outcome = try outcome(item, Sample.policy { $0.history = .always })
        let inserted = outcome.corrections.filter { $0.table == "transactions" }
        #expect(inserted.count == 3)
        let prices = inserted.map { $0.changes.after["price"]?.plainText }
        #expect(Set(prices) == ["20000", "20001", "20002"])
        #expect(outcome.hasAllEvidence)
    }

    /// Apple's facts: a prorated refund returns a part of the money, and the status says whether access
    /// goes on; wholly refunded purchases beside it decide nothing.
    @Test(arguments: [GroupPeriod.Refund.none, .some, .all], [0, 1, 2])
    func `continues after a prorated refund for as long as Apple says so`(
        other: GroupPeriod.Refund, shown: Int
    ) throws {
        let period = GroupPeriod(revoked: [.none, other, other])
        var purchases = period.transactions
        purchases[0].revocationDate = Sample.now(minutes: -30)
        purchases[0].revocationType = "REFUND_PRORATED"
        for status in [SubscriptionStatus.active, .revoked] {
            let isLost = status == .revoked
            guard !isLost || other == .all else { continue }
            let stated = Sample.stated {
                $0.status = status
                $0.transaction = purchases[shown]
            }
            var row = Answer(period: period, shown: [shown]).row(naming: shown)
            row.revocationDate = nil
            var item = Sample.item(row, [stated])
            if other == .all {
                #expect(nextQuestion(for: item, policy: Sample.policy()) == .history(after: nil))
                let alone = try outcome(item, Sample.policy { $0.history = .never })
                #expect(alone.verdict == .undecided(.periodNotShown))
            }
            item.history = .complete(purchases)
            let outcome = try outcome(item)
            #expect(outcome.kinds == (isLost ? [.revocationMissed] : []), "\(other), \(shown)")
            if isLost {
                let changes = try outcome.changes()
                #expect(changes["revocation_date"] == Sample.now(minutes: -30).rfc3339)
            } else {
                #expect(outcome.verdict == .match && outcome.corrections.isEmpty)
            }
        }
    }
}
