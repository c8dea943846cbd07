import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `Loading other rows` {
    private func period(_ id: String, price: Int64, signed: Int64 = 1) -> LocalTransaction {
        var row = LocalTransaction(
            key: TransactionKey(
                bundleID: app.bundleID, environment: "Production", transactionID: id),
            originalTransactionID: "1")
        row.price = price
        row.isUpgraded = true
        row.signedDate = Timestamp(unixMilliseconds: signed)
        return row
    }

    @Test func `loads periods, skips older ones and counts equal ones`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let all = Set(TransactionField.ofPeriods)
        let first = try store.loadTransactions(columns: all) { add in
            for id in ["2", "1", "3"] { _ = try add(period(id, price: 990, signed: 5)) }
        }
        #expect(first.inserted == 3)
        let second = try store.loadTransactions(columns: all) { add in
            _ = try add(period("1", price: 990, signed: 5))
            _ = try add(period("2", price: 1, signed: 4))
            _ = try add(period("3", price: 1990, signed: 5))
        }
        #expect(second.unchanged == 1)
        #expect(second.skippedAsOlder == 1)
        #expect(second.updated == 1)
        var rows: [LocalTransaction] = []
        try store.forEachTransaction { rows.append($0) }
        #expect(
            rows == [
                period("1", price: 990, signed: 5), period("2", price: 990, signed: 5),
                period("3", price: 1990, signed: 5),
            ])
    }

    @Test func `loads purchases in the same way, and into no other table`() throws {
        func purchase(_ id: String, revoked: Int64?, signed: Int64) -> LocalTransaction {
            var row = LocalTransaction(
                key: TransactionKey(
                    bundleID: app.bundleID, environment: "Production", transactionID: id),
                originalTransactionID: id)
            row.customerID = "c"
            row.quantity = 3
            row.revocationDate = revoked.map(Timestamp.init(unixMilliseconds:))
            row.revocationPercentage = revoked.map { _ in 50_000 }
            row.signedDate = Timestamp(unixMilliseconds: signed)
            return row
        }
        let database = try TemporaryDatabase()
        let store = try database.open()
        let all = Set(TransactionField.ofPurchases)
        let rows = (1...3).map { purchase("\($0)", revoked: nil, signed: 5) }
        let first = try store.loadTransactions(into: .purchases, columns: all) { add in
            for row in rows { _ = try add(row) }
            #expect(try add(rows[0]) == .duplicateKey)
        }
        #expect(first.inserted == 3)
        let refunded = purchase("1", revoked: 6, signed: 7)
        let second = try store.loadTransactions(into: .purchases, columns: all) { add in
            _ = try add(refunded)
            _ = try add(purchase("2", revoked: 6, signed: 4))
            _ = try add(rows[2])
        }
        #expect(
            [second.updated, second.skippedAsOlder, second.unchanged, second.inserted]
                == [1, 1, 1, 0])
        // A column that the file does not have stays.
        let partly = try store.loadTransactions(
            into: .purchases, columns: [.transactionID, .productID, .signedDate]
        ) { add in
            var row = purchase("1", revoked: nil, signed: 8)
            row.productID = "coins"
            row.customerID = nil
            _ = try add(row)
        }
        #expect(partly.updated == 1)
        var expected = refunded
        expected.productID = "coins"
        expected.signedDate = Timestamp(unixMilliseconds: 8)
        var found: [LocalTransaction] = []
        try store.forEachTransaction(of: .purchases) { found.append($0) }
        #expect(found == [expected] + rows.dropFirst())
        var periods = 0
        try store.forEachTransaction { _ in periods += 1 }
        #expect(periods == 0)
        struct Bad: Error {}
        #expect(throws: Bad.self) {
            try store.loadTransactions(into: .purchases, columns: all) { add in
                _ = try add(purchase("9", revoked: nil, signed: 5))
                throw Bad()
            }
        }
        #expect(try database.value("SELECT count(*) FROM purchases") == "3")
    }

    @Test func `loads received notifications once, and knows one without a time as received`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let produce: ((ReceivedNotification) throws -> LineOutcome) throws -> Void = { add in
            _ = try add(
                ReceivedNotification(
                    notificationUUID: "a", receivedAt: Timestamp(unixMilliseconds: 5)))
            let outcome = try add(ReceivedNotification(notificationUUID: "b", receivedAt: nil))
            #expect(outcome == .accepted)
            let again = try add(ReceivedNotification(notificationUUID: "b", receivedAt: nil))
            #expect(again == .repeated)
        }
        let first = try store.loadNotifications(of: app, produce)
        #expect(first.inserted == 2 && first.unchanged == 1)
        #expect(try store.loadNotifications(of: nil, produce).unchanged == 3)
    }

    @Test func `takes a notification that was received again at its earliest time`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let counts = try store.loadNotifications(of: app) { add in
            for time in [nil, 7, 5, 9, nil] as [Int64?] {
                _ = try add(
                    ReceivedNotification(
                        notificationUUID: "a",
                        receivedAt: time.map { Timestamp(unixMilliseconds: $0) }))
            }
        }
        #expect(counts.inserted == 1 && counts.unchanged == 4)
        #expect(try database.value("SELECT received_at FROM trueup_notifications") == "5")
    }
}
