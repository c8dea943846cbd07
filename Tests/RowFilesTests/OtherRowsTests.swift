import RowFiles
import Subscriptions
import Testing

@Suite struct `Transaction rows` {
    private func read(_ text: String) throws -> ReadRows<TransactionField, LocalTransaction> {
        let file = try RowFixture(Array(text.utf8), name: "")
        return try ReadRows(TransactionFileReader(transactionsAt: file.path, apps: oneApp))
    }

    @Test func `are read with all their columns`() throws {
        let read = try read(
            TransactionField.ofPeriods.map(\.rawValue).joined(separator: ",") + "\n"
                + "21,11,Production,com.example.app,monthly,Auto-Renewable Subscription,"
                + "2026-10-20T00:00:00Z,2026-11-20T00:00:00Z,2026-10-21T00:00:00Z,1,31,PURCHASED,"
                + "1,2,10990,EUR,2026-10-20T00:00:01Z\n")
        let row = try #require(read.rows.first)
        #expect(read.columns == Set(TransactionField.ofPeriods))
        #expect(row.key.transactionID == "21")
        #expect(row.originalTransactionID == "11")
        #expect(row.productID == "monthly")
        #expect(row.type == "Auto-Renewable Subscription")
        #expect(row.purchaseDate?.rfc3339 == "2026-10-20T00:00:00.000Z")
        #expect(row.expiresDate?.rfc3339 == "2026-11-20T00:00:00.000Z")
        #expect(row.revocationDate?.rfc3339 == "2026-10-21T00:00:00.000Z")
        #expect(row.revocationReason == 1)
        #expect(row.webOrderLineItemID == "31")
        #expect(row.inAppOwnershipType == "PURCHASED")
        #expect(row.isUpgraded == true)
        #expect(row.offerType == 2)
        #expect(row.price == 10_990)
        #expect(row.currency == "EUR")
        #expect(row.signedDate?.rfc3339 == "2026-10-20T00:00:01.000Z")
    }

    @Test(arguments: [
        ("price", "10.99", "10.99 is written 10990"), ("is_upgraded", "yes", "must be 0 or 1"),
        ("revocation_reason", "-1", "whole number"), ("offer_type", "x", "whole number"),
    ])
    func `are bad with a wrong value`(column: String, value: String, reason: String) throws {
        let read = try read(
            "transaction_id,original_transaction_id,\(column)\n21,11,\(value)\n22,11,\n")
        #expect(read.bad.first?.reason.contains(reason) == true, "\(read.bad)")
        #expect(read.rows.count == 1)
    }

    @Test func `need both ids`() throws {
        #expect(throws: RowFileError.self) { try read("transaction_id\n21\n") }
        #expect(try read("{\"transaction_id\":21}\n").bad.count == 1)
    }
}

@Suite struct `Purchase rows` {
    private func read(_ text: String) throws -> ReadRows<TransactionField, LocalTransaction> {
        let file = try RowFixture(Array(text.utf8), name: "")
        return try ReadRows(
            TransactionFileReader(transactionsAt: file.path, of: .purchases, apps: oneApp))
    }

    @Test func `are the original where they name none`() throws {
        for text in ["transaction_id\n21\n", "{\"transaction_id\":21}\n"] {
            let row = try #require(try read(text).rows.first)
            #expect(row.key.transactionID == "21" && row.originalTransactionID == "21")
        }
        let restored = try read("transaction_id,original_transaction_id\n21,20\n22,\n")
        #expect(restored.rows.map(\.originalTransactionID) == ["20", "22"])
    }

    @Test(arguments: [
        ("price", "10.99", "10.99 is written 10990"), ("quantity", "-1", "whole number"),
        ("revocation_percentage", "50%", "whole number"),
        ("purchase_date", "yesterday", "purchase_date"), ("transaction_id", "", "is empty"),
        ("original_transaction_id", "x", "original_transaction_id"),
        ("environment", "Prod", "unknown"),
    ])
    func `are bad with a wrong value`(column: String, value: String, reason: String) throws {
        let columns = ["transaction_id", "product_id", column].filter { $0 != column } + [column]
        let good = columns.map { $0 == "transaction_id" ? "22" : "" }
        let bad = columns.map { $0 == column ? value : $0 == "transaction_id" ? "21" : "p" }
        let text = [columns, bad, good].map { $0.joined(separator: ",") }
            .joined(separator: "\n")
        let read = try read(text + "\n")
        #expect(read.bad.count == 1 && read.rows.count == 1)
        #expect(read.bad.first?.reason.contains(reason) == true, "\(read.bad)")
    }

    @Test func `have no columns of periods`() {
        #expect(throws: RowFileError.self) {
            try read("transaction_id,expires_date\n21,2026-10-20T00:00:00Z\n")
        }
    }
}

@Suite struct `Received notifications` {
    private func read(_ text: String) throws -> ReadRows<NotificationField, ReceivedNotification> {
        let file = try RowFixture(Array(text.utf8), name: ".jsonl")
        return try ReadRows(NotificationFileReader(notificationsAt: file.path))
    }

    /// `{"notificationUUID":"u2","n":"ÿ?"}` as an unpadded base64url text.
    static let payload = "eyJub3RpZmljYXRpb25VVUlEIjoidTIiLCJuIjoiw78_In0"

    @Test func `are named by a payload or by their id`() throws {
        let read = try read(
            "{\"notificationUUID\":\"u1\",\"receivedAt\":\"2026-11-20T03:17:04Z\"}\n"
                + "{\"signedPayload\":\"e30.\(Self.payload).c2ln\"}\n")
        #expect(read.bad.isEmpty)
        #expect(
            read.rows == [
                ReceivedNotification(
                    notificationUUID: "u1", receivedAt: Timestamp(rfc3339: "2026-11-20T03:17:04Z")),
                ReceivedNotification(notificationUUID: "u2", receivedAt: nil),
            ])
    }

    @Test(arguments: [
        ("{}", "neither"), ("{\"signedPayload\":\"a.b\"}", "three parts"),
        ("{\"signedPayload\":\"a.e30.c\"}", "no notification"),
        ("{\"signedPayload\":\"a.!!.c\"}", "three parts"),
        ("{\"notificationUUID\":\"u\",\"receivedAt\":5}", "not a time"),
        ("{\"notificationUUID\":\"u\",\"recievedAt\":null}", "did you mean \"receivedAt\"?"),
        (
            "{\"signedPayload\":\"a.\(payload).c\",\"notificationUUID\":\"u1\"}",
            "another notification"
        ),
    ])
    func `are bad with the reason`(line: String, reason: String) throws {
        let read = try read(line + "\n")
        #expect(read.rows.isEmpty)
        #expect(read.bad.first?.reason.contains(reason) == true, "\(read.bad)")
    }
}
