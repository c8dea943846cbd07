import Foundation
import RowFiles
import Subscriptions
import TestSupport
import Testing

let bothEnvironments =
    oneApp + [AppIdentity(bundleID: "com.example.app", environment: .sandbox)]

func readReceipts(
    _ text: String, as name: String = "", apps: [AppIdentity] = bothEnvironments,
    mapping: ColumnMapping = ColumnMapping()
) throws -> ReadRows<ReceiptField, ReceiptRows> {
    let file = try RowFixture(Array(text.utf8), name: name)
    return try ReadRows(ReceiptFileReader(receiptsAt: file.path, apps: apps, mapping: mapping))
}

extension ReadRows where Row == ReceiptRows {
    /// The ids of each receipt.
    var ids: [[String]] { rows.map { $0.rows.map(\.key.originalTransactionID) } }
}

@Suite struct `An app receipt` {
    @Test(arguments: OpenSSLReceipts.all)
    func `that OpenSSL signed names its subscriptions, in DER and in BER`(base64: String) throws {
        let read = try readReceipts(base64 + "\n")
        #expect(read.bad.isEmpty, "\(read.bad)")
        #expect(read.ids == [["1000000000000001", "1000000000000003"]])
        let receipt = try #require(read.rows.first)
        #expect(receipt.otherPurchases == 1)
        for row in receipt.rows {
            #expect(row.key.bundleID == "com.example.app")
            #expect(row.key.environment == "Sandbox")
            var bare = row
            bare.customerID = nil
            #expect(bare == LocalSubscription(key: row.key), "nothing else of it is believed")
        }
    }

    @Test(arguments: TestReceipt.Encoding.allCases)
    func `names each original transaction once, in its order`(encoding: TestReceipt.Encoding)
        throws
    {
        let purchases = ["13", "11", "13", "12"].map { TestReceipt.Purchase($0, transaction: "99") }
        let read = try readReceipts(TestReceipt(purchases, encoding: encoding).base64)
        #expect(read.ids == [["13", "11", "12"]])
        let many = (1...2000).map { TestReceipt.Purchase("\($0)") }
        #expect(
            try readReceipts(TestReceipt(many, encoding: .ber).base64).ids.first?.count == 2000)
    }

    @Test func `leaves out what never expires, and keeps what does not say`() throws {
        let read = try readReceipts(
            TestReceipt([
                .init("11", expires: ""), .init("12", expires: nil), .init(nil, transaction: "13"),
                .init(nil, transaction: nil),
            ]).base64)
        #expect(read.ids == [["12", "13"]])
        #expect(read.rows.first?.otherPurchases == 2)
    }

    @Test func `may name no subscription at all`() throws {
        let read = try readReceipts(
            TestReceipt([]).base64 + "\n" + TestReceipt([.init("11", expires: "")]).base64)
        #expect(read.bad.isEmpty)
        #expect(read.ids == [[], []])
        #expect(read.rows.map(\.otherPurchases) == [0, 1])
    }

    @Test(arguments: [
        ("Production", "Production"), ("ProductionVPP", "Production"),
        ("ProductionSandbox", "Sandbox"), ("ProductionVPPSandbox", "Sandbox"),
    ])
    func `says in which environment it was made`(type: String, environment: String) throws {
        var receipt = TestReceipt([.init("11")])
        receipt.receiptType = type
        let read = try readReceipts(receipt.base64)
        #expect(read.rows.first?.rows.first?.key.environment == environment)
    }

    @Test func `that does not say is of the only configured app that fits`() throws {
        var receipt = TestReceipt([.init("11")])
        receipt.receiptType = nil
        receipt.bundleID = nil
        #expect(try readReceipts(receipt.base64, apps: oneApp).ids == [["11"]])
        let read = try readReceipts(receipt.base64)
        #expect(read.bad.first?.reason.contains("several apps are configured") == true)
        receipt.receiptType = "Mars"
        #expect(try readReceipts(receipt.base64, apps: oneApp).ids == [["11"]])
    }

    @Test func `of another app or environment than the configured ones is bad`() throws {
        var other = TestReceipt([.init("11")])
        other.bundleID = "com.example.other"
        var sandbox = TestReceipt([.init("11")])
        sandbox.receiptType = "ProductionSandbox"
        var xcode = TestReceipt([.init("0")])
        xcode.receiptType = "Xcode"
        let read = try readReceipts(
            [other, sandbox, xcode].map(\.base64).joined(separator: "\n"), apps: oneApp)
        #expect(read.rows.isEmpty)
        let reasons = read.bad.map(\.reason)
        try #require(reasons.count == 3)
        #expect(reasons[0].contains("\"com.example.other\" in Production, which is not configured"))
        #expect(reasons[1].contains("in Sandbox, which is not configured"))
        #expect(reasons[2].contains("made by Xcode"))
    }

    @Test func `with an id that is none is bad`() throws {
        for id in ["1000000x", "123456789012345678901", "-1"] {
            let read = try readReceipts(TestReceipt([.init("11"), .init(id)]).base64)
            #expect(read.rows.isEmpty)
            #expect(read.bad.first?.reason.contains("not a number of digits") == true)
        }
    }
}

@Suite struct `A transaction receipt` {
    @Test func `names its original transaction, or else its transaction`() throws {
        let texts = [
            TestTransactionReceipt(["original-transaction-id": "11", "transaction-id": "12"]),
            TestTransactionReceipt(["transaction-id": "13", "bid": "com.example.app"]),
            TestTransactionReceipt(["product-id": "coins"]),
        ].map(\.base64)
        let read = try readReceipts(texts.joined(separator: "\n"), apps: oneApp)
        #expect(read.bad.isEmpty, "\(read.bad)")
        #expect(read.ids == [["11"], ["13"], []])
    }

    @Test func `says the app, and the sandbox`() throws {
        let sandbox = TestTransactionReceipt(["transaction-id": "11"], environment: "Sandbox")
        let read = try readReceipts(sandbox.base64)
        #expect(read.rows.first?.rows.first?.key.environment == "Sandbox")
        let other = TestTransactionReceipt(["transaction-id": "11", "bid": "com.example.other"])
        #expect(
            try readReceipts(other.base64, apps: oneApp).bad.first?.reason
                .contains("com.example.other") == true)
    }

    @Test(arguments: [
        "{", "{}", "{ \"a\" = \"b\" }", "{ \"purchase-info\" = \"!\"; }",
        "{ \"purchase-info\" = \"e30\"", "{ \"purchase-info\" = \"AAAA\"; }",
        "{ a = \"b\\", "{ a = (1, 2); }", "{ a = b; a = c; }", "{ = b; }",
    ])
    func `that is damaged is bad`(list: String) throws {
        let read = try readReceipts(
            "receipt\n" + Data(list.utf8).base64EncodedString() + "\n", as: ".csv", apps: oneApp)
        #expect(read.rows.isEmpty)
        #expect(read.bad.map(\.line) == [2])
    }
}

@Suite struct `A damaged receipt` {
    private func bad(_ text: String) throws -> String? {
        let read = try readReceipts("receipt\n\"\(text)\"\n", as: ".csv")
        #expect(read.rows.isEmpty)
        return read.bad.first?.reason
    }

    @Test(arguments: [
        ("", "receipt is empty"), ("*", "is not base64"), ("AAAA", "neither an app receipt"),
        ("MIIBAA==", "cut off or damaged"), ("MAA=", "cut off or damaged"),
        ("a.b.c", "is a JWS, not a receipt"),
    ])
    func `is bad with the reason`(text: String, reason: String) throws {
        let found = try bad(text)
        #expect(found?.contains(reason) == true, "\(found ?? "none")")
    }

    @Test(arguments: OpenSSLReceipts.all)
    func `is bad wherever it was cut off`(base64: String) throws {
        let bytes = try #require(Data(base64Encoded: base64))
        let lines = bytes.indices.map { bytes[..<$0].base64EncodedString() }
        let read = try readReceipts(
            "receipt\n" + lines.joined(separator: "\n") + "\n", as: ".csv")
        #expect(read.rows.isEmpty)
        #expect(read.bad.count == bytes.count)
        #expect(try bad((bytes + Data([0])).base64EncodedString()) != nil)
    }

    @Test func `never traps, whichever bytes were changed`() throws {
        let seed = UInt64.random(in: 0...(.max))
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let good = try OpenSSLReceipts.all.map { try #require(Data(base64Encoded: $0)) }
        var lines: [String] = []
        for index in 0..<4000 {
            var bytes = [UInt8](good[index % 2])
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[place] = UInt8.random(in: 0...255, using: &generator)
            }
            lines.append(Data(bytes).base64EncodedString())
        }
        let read = try readReceipts(
            "receipt\n" + lines.joined(separator: "\n") + "\n", as: ".csv")
        #expect(read.rows.count + read.bad.count == 4000)
    }

    /// Lengths that do not fit into a number, and elements within elements without end.
    @Test(
        arguments: [
            [0x30, 0x88, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x30, 0x89, 0x01, 0, 0, 0, 0, 0, 0, 0, 0], [0x30, 0xFF],
            [0x30, 0x04, 0x3F, 0xFF, 0xFF, 0xFF],
            [0x30, 0x80, 0x00, 0x01], [0x30, 0x80, 0x04, 0x80],
        ] as [[UInt8]])
    func `may state any length`(bytes: [UInt8]) throws {
        #expect(try bad(Data(bytes).base64EncodedString())?.contains("damaged") == true)
    }

    @Test func `may be as deep as it is long, and as long as allowed`() throws {
        var deep: [UInt8] = []
        for _ in 0..<200_000 { deep += [0x30, 0x80] }
        #expect(try bad(Data(deep).base64EncodedString())?.contains("damaged") == true)
        let long = String(repeating: "A", count: 13 << 20)
        #expect(try bad(long)?.contains("longer than") == true)
        #expect(try bad("MII" + long.prefix(8 << 20))?.contains("damaged") == true)
    }
}
