import StoreSupport
import SubscriptionStore
import Subscriptions
import Testing

/// What the books promise of findings that nobody lists any more.
@Suite struct `The contract of findings that close` {
    private let window = NotificationWindow(
        start: Timestamp(unixMilliseconds: 5), end: Timestamp(unixMilliseconds: 50))

    /// Carries what is open, and says what the report of the night then lists.
    private func report(
        _ night: Night, _ place: SQLitePlace, closes: Bool = true, acceptedRows: Int? = nil
    ) async throws -> [FindingKind]? {
        try await night.store.carryOpenFindings(in: night.pass, run: night.run)
        try await night.conclude(closes: closes, acceptedRows: acceptedRows)
        return try place.report(ofRun: night.run.runID)?.kinds
    }

    @Test(arguments: BooksPlace.allCases)
    func `a subscription that is missing still has one line when it has renewed`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        for number in 1...4 {
            let night = try await Night(place, "run-\(number)", after: Int64(number) * 25)
            // The third night nobody looks at the customer.
            if number != 3 {
                var unheld = missing("1")
                unheld.corrections = []
                unheld.findings[0].transactionID = "period \(number)"
                try await night.stage(unheld)
            }
            #expect(try await report(night, place, acceptedRows: 0) == [.missingLocally])
        }
    }

    @Test(arguments: BooksPlace.allCases, [true, false])
    func `what was wrong with a row that the job inserted itself is settled`(
        store: BooksPlace, closes: Bool
    ) async throws {
        let place = try store.place()
        for id in ["1", "2"] { try place.hold(subscription(id)) }
        let first = try await Night(place, "run-1")
        var refused = drift("1", version: 1)
        refused.corrections = []
        refused.examined = .statement
        try await first.stage(refused, outcome("2", .match))
        #expect(try await report(first, place, acceptedRows: 2) == [.accessUnpaid])
        try place.remove(key("1"))
        let second = try await Night(place, "run-2", after: 25)
        try await second.stage(missing("1"))
        #expect(try await second.apply() == 1)
        #expect(
            try await report(second, place, closes: closes, acceptedRows: 1) == [.missingLocally])
        let third = try await Night(place, "run-3", after: 75)
        #expect(try await report(third, place, acceptedRows: 2) == [])
    }

    @Test(arguments: BooksPlace.allCases)
    func `an insert says nothing of the periods of its row`(store: BooksPlace) async throws {
        let place = try store.place()
        try place.hold(subscription("1"))
        let first = try await Night(place, "run-1")
        var wrong = outcome("1", .discrepancy)
        var finding = Finding(kind: .transactionUnknown, severity: .high, row: subscription("1"))
        finding.field = "period 1"
        wrong.findings = [finding]
        wrong.examined = .periods
        try await first.stage(wrong)
        #expect(try await report(first, place, acceptedRows: 1) == [.transactionUnknown])
        try place.remove(key("1"))
        let second = try await Night(place, "run-2", after: 25)
        try await second.stage(missing("1"))
        #expect(try await second.apply() == 1)
        let kinds = try await report(second, place, acceptedRows: 0)
        #expect(kinds.map(Set.init) == [.missingLocally, .transactionUnknown])
        let third = try await Night(place, "run-3", after: 50)
        var mended = outcome("1", .match)
        mended.examined = .periods
        try await third.stage(mended)
        #expect(try await report(third, place, acceptedRows: 1) == [])
    }

    @Test(arguments: BooksPlace.allCases, ["other environment", "one line item"])
    func `two rows that are one too many are nobody's concern once one is gone`(
        store: BooksPlace, case kind: String
    ) async throws {
        let place = try store.place()
        let isOfItem = kind == "one line item"
        let sandbox = AppIdentity(bundleID: app.bundleID, environment: .sandbox)
        var row = subscription("1")
        var other = LocalSubscription(
            key: isOfItem ? key("2") : SubscriptionKey(app: sandbox, originalTransactionID: "1"))
        if isOfItem {
            row.webOrderLineItemID = "77"
            other.webOrderLineItemID = "77"
        }
        for row in [row, other] { try place.hold(row) }
        let first = try await Night(place, "run-1")
        var twice = outcome("1", .discrepancy)
        twice.findings = [Finding(kind: .duplicateLocal, severity: .high, row: row)]
        twice.examined = .standing
        try await first.stage(twice)
        #expect(try await report(first, place, acceptedRows: 2) == [.duplicateLocal])
        let second = try await Night(place, "run-2", after: 25)
        #expect(try await report(second, place, acceptedRows: 2) == [.duplicateLocal])
        try place.remove(other.key)
        let third = try await Night(place, "run-3", after: 50)
        #expect(try await report(third, place, acceptedRows: 1) == [])
        // Were it still open, it would be listed again.
        try place.hold(other)
        let last = try await Night(place, "run-4", after: 75)
        #expect(try await report(last, place, acceptedRows: 2) == [])
    }

    @Test(arguments: BooksPlace.allCases, [true, false])
    func `what no subscription is named of is open until its history is read without it`(
        store: BooksPlace, closes: Bool
    ) async throws {
        let place = try store.place()
        let first = try await Night(place, "run-1")
        try await first.stage(unverifiable(Finding.notificationFieldPrefix + "0123456789abcdef"))
        #expect(try await report(first, place) == [.verificationFailed])
        let second = try await Night(place, "run-2", after: 25)
        #expect(try await report(second, place) == [.verificationFailed])
        let third = try await Night(place, "run-3", after: 50)
        try await place.store.finishRecovery(
            of: app, read: window, watermark: nil, in: third.pass)
        #expect(try await report(third, place, closes: closes) == [])
        // A run that was stopped has not shown that it is gone.
        let last = try await Night(place, "run-4", after: 100)
        #expect(try await report(last, place) == (closes ? [] : [.verificationFailed]))
    }

    @Test(arguments: BooksPlace.allCases, ["asked again", "gone"])
    func `an answer that could not be attributed is open until its row is asked about again`(
        store: BooksPlace, case kind: String
    ) async throws {
        let place = try store.place()
        try place.hold(subscription("1"))
        let first = try await Night(place, "run-1")
        try await first.stage(unverifiable("1"))
        #expect(try await report(first, place, acceptedRows: 1) == [.verificationFailed])
        let second = try await Night(place, "run-2", after: 25)
        try await place.store.finishRecovery(
            of: app, read: window, watermark: nil, in: second.pass)
        #expect(try await report(second, place, acceptedRows: 1) == [.verificationFailed])
        let third = try await Night(place, "run-3", after: 50)
        if kind == "gone" {
            try place.remove(key("1"))
        } else {
            var answered = outcome("1", .match)
            answered.examined = .statement
            try await third.stage(answered)
        }
        #expect(try await report(third, place, acceptedRows: 1) == [])
        try place.hold(subscription("1"))
        let last = try await Night(place, "run-4", after: 75)
        #expect(try await report(last, place, acceptedRows: 1) == [])
    }

    /// A payload that does not verify and names no subscription.
    private func unverifiable(_ field: String) -> RowOutcome {
        var finding = Finding(
            kind: .verificationFailed, severity: .critical, bundleID: app.bundleID,
            environment: app.environment.rawValue)
        finding.field = field
        var result = outcome("", nil)
        result.findings = [finding]
        return result
    }
}
