import Reconciliation
import Subscriptions
import Testing

@Suite struct `The rule of seats` {
    private func stated(
        _ quantity: Int64, revoked: Int64 = 0, next: Int64?,
        _ change: (inout StatedSubscription) -> Void = { _ in }
    ) -> StatedSubscription {
        Sample.stated {
            $0.transaction.seats = SignedSeats(quantity: quantity, revoked: revoked)
            $0.renewal.renewalQuantity = next
            change(&$0)
        }
    }

    @Test func `reports each number that differs, and writes Apple's`() throws {
        let stated = stated(5, revoked: 2, next: 4)
        let row = Sample.row(of: stated) {
            $0.quantity = 3
            $0.renewalQuantity = 5
            $0.revokedSeats = 0
        }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.kinds == [.seats, .seats, .seats])
        #expect(outcome.findings.map(\.field) == ["quantity", "renewal_quantity", "revoked_seats"])
        #expect(outcome.findings.allSatisfy { $0.severity == .medium && $0.action == .planned })
        #expect(
            outcome.findings.map(\.evidence) == [
                stated.transaction.evidence.digest, stated.renewal.evidence.digest,
                stated.transaction.evidence.digest,
            ])
        #expect(
            try outcome.changes() == [
                "quantity": "5", "renewal_quantity": "4", "revoked_seats": "2",
                "signed_date": stated.signedDate.rfc3339,
            ])
        #expect(outcome.hasAllEvidence)
    }

    @Test func `fills in empty numbers of a group, and never of another subscription`() throws {
        let group = stated(5, next: 5)
        let empty = Sample.row(of: group) {
            ($0.quantity, $0.renewalQuantity, $0.revokedSeats) = (nil, nil, nil)
        }
        let filled = try outcome(empty, beside: group)
        #expect(filled.verdict == .match && filled.kinds.isEmpty)
        #expect(try filled.changes()["quantity"] == "5")
        #expect(try filled.changes()["revoked_seats"] == "0")
        let single = Sample.stated { $0.renewal.renewalQuantity = 1 }
        for seats in [nil, 0, 1] as [Int64?] {
            let row = Sample.row(of: single) {
                ($0.quantity, $0.renewalQuantity) = (seats, seats)
            }
            let outcome = try outcome(row, beside: single)
            #expect(outcome.verdict == .match && outcome.corrections.isEmpty)
        }
    }

    @Test func `clears numbers of a subscription that is no longer a group's`() throws {
        let single = Sample.stated()
        let row = Sample.row(of: single) {
            ($0.quantity, $0.renewalQuantity, $0.revokedSeats) = (5, 4, 1)
        }
        let outcome = try outcome(row, beside: single)
        #expect(outcome.kinds == [.seats, .seats, .seats])
        #expect(try outcome.changes()["quantity"] == "")
        #expect(try outcome.changes()["revoked_seats"] == "")
    }

    /// The renewal and the end of access have findings of their own, whose corrections write the seats.
    @Test func `leaves to other findings what they tell`() throws {
        let stated = stated(5, next: 5)
        let renewed = Sample.row(of: stated) {
            $0.quantity = 3
            $0.expiresDate = Sample.now(days: -5)
        }
        let outcome = try outcome(renewed, beside: stated)
        #expect(outcome.kinds == [.expiry])
        #expect(try outcome.changes()["quantity"] == "5")
        let revoked = self.stated(5, revoked: 2, next: 5) {
            $0.status = .revoked
            $0.transaction.revocationDate = Sample.now(days: -1)
        }
        let active = Sample.row(of: revoked) { $0.status = 1 }
        let lost = try ReconciliationTests.outcome(active, beside: revoked)
        #expect(lost.kinds == [.revocationMissed])
        // All seats of the transaction are revoked with it.
        #expect(try lost.changes()["revoked_seats"] == "5")
    }

    @Test func `adds up every purchase of the period, and nothing before all are known`() throws {
        for period in GroupPeriod.all where period.revoked.count > 1 {
            let stated = period.statement(
                showing: 0,
                status: period.revoked.allSatisfy { $0 == .all } ? .revoked : .active)
            let row = Sample.row(of: stated) { ($0.quantity, $0.revokedSeats) = (1, 99) }
            var item = Sample.item(row, [stated])
            #expect(nextQuestion(for: item, policy: Sample.policy()) == .history(after: nil))
            item.history = .incomplete("a page is missing")
            #expect(try outcome(item).corrections.isEmpty)
            item.history = .complete(period.transactions)
            let outcome = try outcome(item)
            #expect(Set(outcome.kinds).isSubset(of: [.seats, .revocationDate]), "\(period)")
            let changes = try outcome.changes()
            #expect(changes["quantity"] == String(period.seats.quantity), "\(period)")
            #expect(changes["revoked_seats"] == String(period.seats.revoked), "\(period)")
        }
    }

    @Test func `reads no history for a table without the numbers`() throws {
        let period = GroupPeriod(revoked: [.none, .none])
        let stated = period.statement(showing: 0, status: .active)
        let item = Sample.item(Sample.row(of: stated), [stated])
        for leftOut in [[], [.quantity], [.quantity, .revokedSeats]] as [Set<SubscriptionField>] {
            let policy = Sample.policy { $0.kept.leftOut = leftOut }
            let isRead = nextQuestion(for: item, policy: policy) == .history(after: nil)
            #expect(isRead == (leftOut.count < 2))
        }
    }

    @Test func `keeps sums that no number holds from being written`() {
        var transaction = Sample.stated().transaction
        transaction.seats = SignedSeats(quantity: .max, revoked: 0, sharesPeriod: true)
        #expect(SeatCount(over: [transaction, transaction]) == nil)
        #expect(SeatCount(over: []) == nil)
    }

    @Test func `writes no number that a job keeps for itself`() throws {
        let stated = stated(5, next: 5)
        let row = Sample.row(of: stated) { $0.quantity = 3 }
        let policy = Sample.policy { $0.reportOnlyFields.insert("quantity") }
        let outcome = try outcome(row, beside: stated, policy)
        #expect(outcome.kinds == [.seats] && outcome.corrections.isEmpty)
    }
}
