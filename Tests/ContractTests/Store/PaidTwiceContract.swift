import StoreSupport
import SubscriptionStore
import Subscriptions
import Testing

/// What the books promise about customers who pay under two Apple Accounts.
@Suite struct `The contract of customers who pay twice` {
    /// A row that agrees with a statement of Apple's, by which its customer pays for a group, or for none.
    private func judged(
        _ row: LocalSubscription, pays group: String? = "gold", account: UInt64? = nil,
        ends clock: Int64 = 9000
    ) -> RowOutcome {
        var result = RowOutcome(key: row.key, verdict: .match)
        result.examined = .statement
        result.askedBecause = .never
        result.check = RowCheck(
            signedDate: Timestamp(unixMilliseconds: 2000),
            clock: Timestamp(unixMilliseconds: clock), isLasting: true,
            values: ValuesDigest(of: row), account: account.map(AccountDigest.init(bits:)))
        result.payer = CustomerDigest(ofID: row.customerID).map {
            Payer(customer: $0, paidGroup: group)
        }
        return result
    }

    /// The same with the finding that it is paid for beside an earlier one.
    private func found(_ row: LocalSubscription, beside earlier: String) -> RowOutcome {
        var result = judged(row)
        result.verdict = .discrepancy
        var finding = Finding(kind: .overlappingSubscriptions, severity: .medium, row: row)
        finding.field = SubscriptionField.originalTransactionID.rawValue
        finding.appleValue = .text(earlier)
        finding.cause = Finding.causeTwoAccounts
        result.findings = [finding]
        return result
    }

    private func neighbours(
        of key: SubscriptionKey, in place: SQLitePlace
    ) async throws -> [String] {
        let notes = try await place.store.notes(about: [key])
        return notes[key]?.neighbours.map(\.originalTransactionID) ?? []
    }

    @Test(arguments: BooksPlace.allCases)
    func `neighbours are paid for by the same customer, in the same app and environment`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        let rows = [
            ("1", "anna"), ("2", "anna"), ("3", "bert"), ("4", "anna"), ("6", ""), ("7", ""),
        ]
        .map { subscription($0.0, customer: $0.1) }
        var sandbox = LocalSubscription(
            key: SubscriptionKey(
                bundleID: app.bundleID, environment: "Sandbox", originalTransactionID: "5"))
        sandbox.customerID = "anna"
        for row in rows + [sandbox] { try place.hold(row) }
        let night = try await Night(place, "run-1")
        for row in rows + [sandbox] {
            try await night.stage(judged(row, pays: row.key == key("4") ? nil : "gold"))
        }
        #expect(try await neighbours(of: key("1"), in: place) == [])
        try await night.conclude()
        #expect(try await neighbours(of: key("1"), in: place) == ["2"])
        #expect(try await neighbours(of: key("2"), in: place) == ["1"])
        #expect(try await neighbours(of: key("3"), in: place) == [])
        #expect(try await neighbours(of: key("4"), in: place) == ["1", "2"])
        #expect(try await neighbours(of: sandbox.key, in: place) == [])
        #expect(try await neighbours(of: key("6"), in: place) == [])
        #expect(try await neighbours(of: key("8"), in: place) == [])
        let notes = try await place.store.notes(about: [key("1")])
        #expect(
            notes[key("1")]?.neighbours == [
                PaidNeighbour(
                    originalTransactionID: "2", group: "gold",
                    clock: Timestamp(unixMilliseconds: 9000))
            ])
        // A row of another customer's, or of nobody's, is no neighbour from that moment on.
        try place.hold(subscription("2", customer: "bert"))
        #expect(try await neighbours(of: key("1"), in: place) == [])
        try place.hold(subscription("2", customer: "anna"))
        #expect(try await neighbours(of: key("1"), in: place) == ["2"])
        try place.remove(key("2"))
        #expect(try await neighbours(of: key("1"), in: place) == [])
    }

    @Test(arguments: BooksPlace.allCases)
    func `a name under which many pay is nobody's`(store: BooksPlace) async throws {
        let place = try store.place()
        let rows = (1...PaidNeighbour.most + 1).map { subscription("\($0)", customer: "guest") }
        for row in rows { try place.hold(row) }
        let night = try await Night(place, "run-1")
        for row in rows.dropLast() { try await night.stage(judged(row)) }
        try await night.conclude()
        #expect(try await neighbours(of: key("1"), in: place).count == PaidNeighbour.most - 1)
        let next = try await Night(place, "run-2", after: 25)
        for row in rows { try await next.stage(judged(row)) }
        try await next.conclude()
        #expect(try await neighbours(of: key("1"), in: place) == [])
    }

    @Test(arguments: BooksPlace.allCases)
    func `of a new pair the later row is owed until it is reported`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        // The longer id is the later one, though it sorts first.
        let rows = ["9", "10"].map { subscription($0, customer: "anna") }
        for row in rows { try place.hold(row) }
        let first = try await Night(place, "run-1")
        for row in rows { try await first.stage(judged(row)) }
        try await first.conclude()
        let second = try await Night(place, "run-2", after: 25)
        #expect(try await second.pending() == ["10"])
        try await second.stage(found(rows[1], beside: "9"))
        try await second.conclude()
        let notes = try await place.store.notes(about: rows.map(\.key))
        #expect(notes[key("10")]?.isKnownOverlap == true)
        #expect(notes[key("9")]?.isKnownOverlap == false)
        // Whichever of them is judged again, the pair is reported already.
        let third = try await Night(place, "run-3", after: 50)
        #expect(try await third.pending() == [])
        try await third.stage(judged(rows[0]))
        try await third.store.carryOpenFindings(in: third.pass, run: third.run)
        try await third.conclude()
        #expect(try place.report(ofRun: "run-3")?.kinds == [.overlappingSubscriptions])
        #expect(try await Night(place, "run-4", after: 75).pending() == [])
    }

    @Test(arguments: BooksPlace.allCases)
    func `nothing is owed of one account, of two groups, or of what has ended`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        let rows = (1...6).map { subscription("\($0)", customer: "customer \(($0 + 1) / 2)") }
        for row in rows { try place.hold(row) }
        let first = try await Night(place, "run-1")
        try await first.stage(
            judged(rows[0], account: 7), judged(rows[1], account: 7), judged(rows[2]),
            judged(rows[3], pays: "silver"), judged(rows[4], ends: 1999), judged(rows[5]))
        try await first.conclude()
        #expect(try await Night(place, "run-2", after: 25).pending() == [])
    }

    @Test(arguments: BooksPlace.allCases, [false, true])
    func `once the earlier one is not the customer's, or not paid for, the later one is owed`(
        store: BooksPlace, changesCustomer: Bool
    ) async throws {
        let place = try store.place()
        let rows = ["1", "2"].map { subscription($0, customer: "anna") }
        for row in rows { try place.hold(row) }
        let first = try await Night(place, "run-1")
        try await first.stage(judged(rows[0]), found(rows[1], beside: "1"))
        try await first.conclude()
        let second = try await Night(place, "run-2", after: 25)
        #expect(try await second.pending() == [])
        if changesCustomer {
            try place.hold(subscription("1", customer: "bert"))
        } else {
            try await second.stage(judged(rows[0], pays: nil))
        }
        try await second.store.carryOpenFindings(in: second.pass, run: second.run)
        try await second.conclude()
        #expect(try place.report(ofRun: "run-2")?.kinds == [.overlappingSubscriptions])
        let third = try await Night(place, "run-3", after: 50)
        #expect(try await third.pending() == ["2"])
        try await third.stage(judged(rows[1]))
        try await third.store.carryOpenFindings(in: third.pass, run: third.run)
        try await third.conclude()
        #expect(try place.report(ofRun: "run-3")?.kinds == [])
        #expect(try await Night(place, "run-4", after: 75).pending() == [])
    }
}
