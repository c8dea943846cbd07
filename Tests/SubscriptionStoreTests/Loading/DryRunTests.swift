import GRDB
import SubscriptionStore
import Subscriptions
import Testing

/// A dry run against the load that it stands for.
@Suite struct `A dry run of a load` {
    private func changed() -> [LocalSubscription] {
        let known = (0..<1200).map { subscription(String(10_000 + $0), signed: 2000) }
        var rows = known
        for index in 0..<100 { rows[index].status = 2 }
        for index in 100..<130 { rows[index].signedDate = Timestamp(unixMilliseconds: 1999) }
        for index in 130..<140 { rows[index].signedDate = nil }
        return rows + (0..<700).map { subscription(String(20_000 + $0), signed: nil) }
    }

    private func stored(in database: TemporaryDatabase) throws {
        let store = try database.open()
        try store.load((0..<1200).map { subscription(String(10_000 + $0), signed: 2000) })
        try store.close()
    }

    @Test(arguments: [StoreAccess.readOnly, .readWrite])
    func `counts what the load then changes, and changes no byte`(access: StoreAccess) throws {
        let database = try TemporaryDatabase()
        try stored(in: database)
        let before = try database.files()
        let looking = try database.open(access)
        let all = Set(SubscriptionField.stored)
        let forecast = try looking.loadSubscriptions(columns: all, dryRun: true) { add in
            for row in changed() { _ = try add(row) }
        }
        try looking.close()
        if access == .readOnly { #expect(try database.files() == before) }
        #expect(try database.value("SELECT count(*) FROM subscriptions") == "1200")
        let counts = try database.open().load(changed())
        #expect(forecast == counts)
        #expect(counts.inserted == 700)
        #expect(counts.updated == 100)
        #expect(counts.skippedAsOlder == 40)
        #expect(counts.unchanged == 1060)
    }

    @Test func `measures lines by the newest statement that a run has seen`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let rows = (1...4).map { subscription(String($0), signed: 2000) }
        try store.load(rows)
        try store.close()
        for id in ["1", "2", "4", "5"] {
            try database.execute(
                """
                INSERT INTO trueup_statements
                SELECT bundle_id, environment, '\(id)', 4000 FROM subscriptions LIMIT 1
                """)
        }
        // Older than the statement; the same row again; no statement is known; newer; no such row.
        var lines = (1...5).map { subscription(String($0), signed: 3000) }
        for index in lines.indices { lines[index].status = 2 }
        lines[1] = rows[1]
        lines[3].signedDate = Timestamp(unixMilliseconds: 5000)
        let all = Set(SubscriptionField.stored)
        let forecast = try database.open(.readOnly).loadSubscriptions(columns: all, dryRun: true) {
            add in for line in lines { _ = try add(line) }
        }
        let counts = try database.open().load(lines)
        #expect(forecast == counts)
        #expect(counts.skippedAsOlder == 1)
        #expect(counts.unchanged == 1)
        #expect(counts.updated == 2)
        #expect(counts.inserted == 1)
        #expect(counts.outdated.skipped == 1)
        #expect(counts.outdated.inserted == 1)
        #expect(counts.outdated.firstSkipped?.originalTransactionID == "1")
        #expect(counts.outdated.firstSkipped?.newest == Timestamp(unixMilliseconds: 4000))
        #expect(counts.outdated.firstInserted?.originalTransactionID == "5")
        let statuses = "SELECT status FROM subscriptions ORDER BY original_transaction_id"
        #expect(try database.rows(statuses) == [["1"], ["1"], ["2"], ["2"], ["2"]])
    }

    @Test func `leaves a log alone that a killed program left`() throws {
        let database = try TemporaryDatabase()
        try stored(in: database)
        let service = try database.service()
        try service.write { try $0.execute(sql: "UPDATE subscriptions SET customer_id = 'c'") }
        let store = try database.open(.readOnly)
        let counts = try store.loadSubscriptions(columns: [.status], dryRun: true) { add in
            _ = try add(subscription("10000", status: 5, signed: 2000))
        }
        #expect(counts.updated == 1)
        #expect(try database.value("SELECT max(status) FROM subscriptions") == "1")
        try service.close()
    }

    @Test func `keeps no service waiting, and sees what it writes`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open(.readOnly)
        let counts = try store.loadSubscriptions(columns: [], dryRun: true) { add in
            _ = try add(subscription("1"))
            try database.execute(
                """
                INSERT INTO subscriptions (bundle_id, environment, original_transaction_id)
                VALUES ('com.example.app', 'Production', '1')
                """)
        }
        #expect(counts.inserted == 0)
        #expect(counts.unchanged == 1)
    }

    @Test func `counts periods and notifications too`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        var period = LocalTransaction(
            key: TransactionKey(
                bundleID: app.bundleID, environment: "Production", transactionID: "1"),
            originalTransactionID: "1")
        period.price = 990
        let produce: ((LocalTransaction) throws -> LineOutcome) throws -> Void = { add in
            _ = try add(period)
        }
        let columns = Set(TransactionField.ofPeriods)
        #expect(try store.loadTransactions(columns: columns, dryRun: true, produce).inserted == 1)
        #expect(try store.loadTransactions(columns: columns, produce).inserted == 1)
        #expect(try store.loadTransactions(columns: columns, dryRun: true, produce).unchanged == 1)

        let time = Timestamp(unixMilliseconds: 5)
        let notify: ((ReceivedNotification) throws -> LineOutcome) throws -> Void = { add in
            _ = try add(ReceivedNotification(notificationUUID: "a", receivedAt: time))
        }
        #expect(try store.loadNotifications(of: app, dryRun: true, notify).inserted == 1)
        #expect(try store.loadNotifications(of: app, notify).inserted == 1)
        #expect(try store.loadNotifications(of: app, dryRun: true, notify).unchanged == 1)
        try database.execute("UPDATE trueup_notifications SET received_at = NULL")
        #expect(try store.loadNotifications(of: app, dryRun: true, notify).updated == 1)
        #expect(
            try database.value("SELECT count(*) FROM trueup_notifications WHERE received_at = 5")
                == "0")
    }
}
