import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `Loading receipts` {
    private let columns: Set<SubscriptionField> = [.customerID, .appAccountToken]

    /// The rows of a receipt.
    private func receipt(
        _ ids: [String], customer: String? = nil, token: String? = nil
    ) -> [LocalSubscription] {
        ids.map { id in
            var row = LocalSubscription(key: key(id))
            row.customerID = customer
            row.appAccountToken = token
            return row
        }
    }

    private func load(
        _ receipts: [[LocalSubscription]], into store: SQLiteStore
    ) throws -> (counts: LoadCounts, outcomes: [LineOutcome]) {
        var outcomes: [LineOutcome] = []
        let counts = try store.loadReceipts(columns: columns) { add in
            for receipt in receipts { outcomes.append(try add(receipt, nil)) }
        }
        return (counts, outcomes)
    }

    @Test func `makes rows without a status, each once`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let (counts, outcomes) = try load(
            [
                receipt(["1", "2"], customer: "c"), receipt(["2", "3"], customer: "c"),
                receipt(["1", "3"], customer: "c"), receipt([]),
            ], into: store)
        #expect(outcomes == [.accepted, .accepted, .repeated, .accepted])
        #expect(counts.inserted == 3)
        #expect(counts.unchanged == 0)
        let rows = try store.subscriptions()
        #expect(rows.map(\.customerID) == ["c", "c", "c"])
        #expect(rows.allSatisfy { $0.status == nil && $0.signedDate == nil })
    }

    @Test func `takes a customer or token from whichever receipt gives one`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let (_, outcomes) = try load(
            [
                receipt(["1"]), receipt(["1"], customer: "c"), receipt(["1"], token: "t"),
                receipt(["1"]),
            ], into: store)
        #expect(outcomes == [.accepted, .repeated, .repeated, .repeated])
        let row = try #require(try store.subscriptions().first)
        #expect(row.customerID == "c")
        #expect(row.appAccountToken == "t")
    }

    @Test func `takes nothing of a receipt that names another customer or token`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let (counts, outcomes) = try load(
            [
                receipt(["2"], customer: "c", token: "t"),
                receipt(["1", "2", "3"], customer: "d"),
                receipt(["2", "4"], customer: "c", token: "u"),
                receipt(["5"], customer: "d"),
            ], into: store)
        #expect(outcomes == [.accepted, .duplicateKey, .duplicateKey, .accepted])
        #expect(counts.inserted == 2)
        #expect(counts.unchanged == 0)
        #expect(try store.subscriptions().map(\.key.originalTransactionID) == ["2", "5"])
    }

    @Test func `leaves rows alone that rest on Apple's word`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1", customer: "c")])
        let (counts, _) = try load([receipt(["1"], customer: "d")], into: store)
        #expect(counts.skippedAsOlder == 1)
        #expect(try store.subscriptions().first?.customerID == "c")
    }

    @Test func `keeps what a line does not give`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1", status: nil, signed: nil, customer: "c")])
        let bit = try #require(
            SubscriptionField.allCases.firstIndex(of: .appAccountToken).map { UInt64(1) << $0 })
        let counts = try store.loadReceipts(columns: columns) { add in
            _ = try add(receipt(["1"]), 0)
            _ = try add(receipt(["1"], token: "t"), bit)
        }
        #expect(counts.updated == 1)
        let row = try #require(try store.subscriptions().first)
        #expect(row.customerID == "c")
        #expect(row.appAccountToken == "t")
    }

    @Test func `counts in a dry run, and writes nothing`() throws {
        let database = try TemporaryDatabase()
        let before = try database.files()
        let store = try database.open(.readOnly)
        let counts = try store.loadReceipts(columns: columns, dryRun: true) { add in
            let refused = try add(receipt(["1", "2"], customer: "c"), nil)
            #expect(refused == .accepted)
            let other = try add(receipt(["2", "3"], customer: "d"), nil)
            #expect(other == .duplicateKey)
        }
        try store.close()
        #expect(counts.inserted == 2)
        #expect(try database.files() == before)
    }
}
