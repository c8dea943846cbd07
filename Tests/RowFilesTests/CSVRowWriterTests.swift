import RowFiles
import Subscriptions
import TestSupport
import Testing

@Suite struct `Written rows` {
    @Test func `are lines of fields with commas between them`() {
        var bytes: [UInt8] = []
        [FieldValue.text("status"), .null, .integer(-2), .text("")].appendCSV(to: &bytes)
        [FieldValue.time(Timestamp(unixMilliseconds: 1))].appendCSV(to: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "status,,-2,\r\n1970-01-01T00:00:00.001Z\r\n")
    }

    /// Texts that a careless writer or reader would change.
    static let oddTexts = [
        "plain", "=HYPERLINK(\"http://x\")", "@cmd", "+1", "-1", "a,b", "\"", "\"\"", "a\"b", "\n",
        "\r\n", "a\rb", " lead", "trail ", "\u{202E}", "<script>", "é\u{301}", "\u{1F600}", "0001",
        "NULL", "null", "#", "'", "\\", "\t", "\u{FEFF}x", "{", String(repeating: "x", count: 5000),
    ]

    @Test func `are read back as they were, whatever they hold`() throws {
        let seed = UInt64.random(in: 0...(.max))
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let text = {
            Bool.random(using: &generator) ? Self.oddTexts.randomElement(using: &generator) : nil
        }
        let time = {
            Bool.random(using: &generator)
                ? Timestamp(
                    unixMilliseconds: Int64.random(
                        in: -62_135_596_800_000...253_402_300_799_999, using: &generator)) : nil
        }
        let number = { (range: ClosedRange<Int>) in
            Bool.random(using: &generator) ? Int.random(in: range, using: &generator) : nil
        }
        var rows: [LocalSubscription] = []
        for index in 0..<500 {
            var row = LocalSubscription(
                key: SubscriptionKey(
                    bundleID: "com.example,\"app\"", environment: "Sandbox",
                    originalTransactionID: String(200_000_000_000_000 + index)))
            row.customerID = text()
            row.appAccountToken = text()
            row.productID = text()
            row.status = number(1...5)
            row.expiresDate = time()
            row.gracePeriodExpiresDate = time()
            row.autoRenewStatus = number(0...1)
            row.autoRenewProductID = text()
            row.revocationDate = time()
            row.inAppOwnershipType = text()
            row.latestTransactionID = number(1...Int.max).map { String($0) }
            row.webOrderLineItemID = number(1...Int.max).map { String($0) }
            row.signedDate = time()
            row.paidElsewhereUntil = time()
            row.quantity = number(0...Int.max).map(Int64.init)
            row.renewalQuantity = number(0...Int.max).map(Int64.init)
            row.revokedSeats = number(0...Int.max).map(Int64.init)
            rows.append(row)
        }
        var bytes: [UInt8] = []
        SubscriptionField.allCases.map { FieldValue.text($0.rawValue) }.appendCSV(to: &bytes)
        for row in rows {
            SubscriptionField.allCases.map(row.value(of:)).appendCSV(to: &bytes)
        }
        let read = try readSubscriptions(bytes)
        #expect(read.bad.isEmpty)
        #expect(read.rows == rows)
    }

    @Test func `of transactions are read back as they were`() throws {
        var row = LocalTransaction(
            key: TransactionKey(bundleID: "b", environment: "Production", transactionID: "21"),
            originalTransactionID: "11")
        row.productID = "a,\"b"
        row.type = "Auto-Renewable Subscription"
        row.purchaseDate = Timestamp(unixMilliseconds: 1)
        row.isUpgraded = false
        row.offerType = 7
        row.price = Int64.max
        row.currency = "JPY"
        row.signedDate = Timestamp(unixMilliseconds: -1)
        var bytes: [UInt8] = []
        TransactionField.ofPeriods.map { FieldValue.text($0.rawValue) }.appendCSV(to: &bytes)
        TransactionField.ofPeriods.map(row.value(of:)).appendCSV(to: &bytes)
        let file = try RowFixture(bytes, name: ".csv")
        let read = try ReadRows(TransactionFileReader(transactionsAt: file.path, apps: []))
        #expect(read.bad.isEmpty)
        #expect(read.rows == [row])
    }

    @Test func `of purchases are read back as they were`() throws {
        var row = LocalTransaction(
            key: TransactionKey(bundleID: "b", environment: "Production", transactionID: "21"),
            originalTransactionID: "20")
        row.customerID = "a,\"b"
        row.appAccountToken = "t"
        row.productID = "coins"
        row.type = "Consumable"
        row.quantity = Int64.max
        row.purchaseDate = Timestamp(unixMilliseconds: 1)
        row.revocationDate = Timestamp(unixMilliseconds: 2)
        row.revocationReason = 1
        row.revocationPercentage = 100_000
        row.price = 990
        row.currency = "JPY"
        row.signedDate = Timestamp(unixMilliseconds: 3)
        var bytes: [UInt8] = []
        TransactionField.ofPurchases.map { FieldValue.text($0.rawValue) }.appendCSV(to: &bytes)
        TransactionField.ofPurchases.map(row.value(of:)).appendCSV(to: &bytes)
        let file = try RowFixture(bytes, name: ".csv")
        let read = try ReadRows(
            TransactionFileReader(transactionsAt: file.path, of: .purchases, apps: []))
        #expect(read.bad.isEmpty)
        #expect(read.rows == [row])
    }
}
