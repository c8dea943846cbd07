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
        let all = Set(TransactionField.allCases)
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
            #expect(again == .duplicateKey)
        }
        #expect(try store.loadNotifications(of: app, produce).inserted == 2)
        #expect(try store.loadNotifications(of: nil, produce).unchanged == 2)
    }
}
