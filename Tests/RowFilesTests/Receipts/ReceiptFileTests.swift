import Foundation
import RowFiles
import Subscriptions
import TestSupport
import Testing

@Suite struct `A file of receipts` {
    private let first = TestReceipt([.init("11"), .init("12")]).base64
    private let second = TestReceipt([.init("13")], encoding: .ber).base64

    @Test(arguments: ["", ".txt", ".csv"])
    func `may be bare base64, one a line`(name: String) throws {
        let read = try readReceipts("\(first)\r\n\(second)\n", as: name)
        #expect(read.bad.isEmpty)
        #expect(read.ids == [["11", "12"], ["13"]])
        #expect(read.lines == [1, 2])
        #expect(read.columns == [.receipt])
    }

    @Test func `may be CSV with our columns beside the receipt`() throws {
        let read = try readReceipts(
            """
            customer_id,receipt,app_account_token,bundle_id,environment
            c1,\(first),t1,com.example.app,Production
            c2,\(second),,,
            c3,\(second),,com.example.other,
            c4,\(second),,,Sandbox

            """)
        #expect(read.ids == [["11", "12"], ["13"]])
        #expect(read.rows.first?.rows.map(\.customerID) == ["c1", "c1"])
        #expect(read.rows.first?.rows.map(\.appAccountToken) == ["t1", "t1"])
        #expect(read.bad.map(\.line) == [4, 5])
        #expect(
            read.bad.first?.reason
                == "bundle_id \"com.example.other\" is not that of the receipt, which says "
                + "\"com.example.app\"")
        #expect(read.bad.last?.reason.contains("which says \"Production\"") == true)
    }

    @Test func `may be JSON Lines, whose lines give what they name`() throws {
        let escaped = first.replacing("/", with: "\\/")
        let text =
            "{\"receipt\":\"\(escaped)\",\"customer_id\":7}\n{\"receipt\":\"\(second)\"}\n"
        let file = try RowFixture(Array(text.utf8), name: ".jsonl")
        var reader = try ReceiptFileReader(receiptsAt: file.path, apps: oneApp)
        #expect(reader.columns == [.receipt, .customerID])
        let customer = try #require(SubscriptionField.allCases.firstIndex(of: .customerID))
        _ = try reader.next()
        #expect(reader.givenOfRows == 1 << UInt64(customer))
        _ = try reader.next()
        #expect(reader.givenOfRows == 0)
    }

    @Test func `may wrap and respell its base64`() throws {
        let wrapped = stride(from: 0, to: first.count, by: 64).map { begin in
            String(first.dropFirst(begin).prefix(64))
        }.joined(separator: "\r\n")
        let urlSafe = second.replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
        let read = try readReceipts("receipt\n\"\(wrapped)\"\n\(urlSafe)\n", as: ".csv")
        #expect(read.ids == [["11", "12"], ["13"]])
    }

    @Test func `may give its columns other names`() throws {
        let read = try readReceipts(
            "user,blob,note\nc1,\(first),x\n",
            mapping: ColumnMapping(["user": "customer_id", "blob": "receipt", "note": nil]))
        #expect(read.rows.first?.rows.map(\.customerID) == ["c1", "c1"])
    }

    @Test func `needs a column with the receipt`() throws {
        #expect(throws: RowFileError.self) { try readReceipts("customer_id\nc\n") }
        #expect(
            try readReceipts("{\"customer_id\":\"c\"}\n").bad.first?.reason == "receipt is empty")
    }
}
