import Foundation
import RowFiles
import Subscriptions
import TestSupport
import Testing

@Suite struct `JSON Lines` {
    private func read(
        _ text: String, as name: String = ".jsonl"
    ) throws -> ReadRows<SubscriptionField, LocalSubscription> {
        try readSubscriptions(text, as: name)
    }

    @Test(arguments: [".jsonl", ".ndjson", ".JSONL", ".txt", ""])
    func `are told by the file's name or by the first byte`(name: String) throws {
        let read = try read("{\"original_transaction_id\":\"11\"}\n", as: name)
        #expect(read.rows.map(\.key.originalTransactionID) == ["11"])
    }

    @Test func `hold ids as texts or whole numbers, exactly`() throws {
        let read = try read(
            """
            {"original_transaction_id": 18446744073709551615, "customer_id": 9007199254740993}
            {"original_transaction_id":"00012","customer_id":"x"}
            """)
        #expect(
            read.rows.map(\.key.originalTransactionID) == ["18446744073709551615", "00012"])
        #expect(read.rows.map(\.customerID) == ["9007199254740993", "x"])
    }

    @Test func `have as columns the keys of all lines together`() throws {
        let read = try read(
            "{\"original_transaction_id\":\"1\"}\n"
                + "{\"original_transaction_id\":\"2\",\"status\":3,\"expires_date\":null}\n")
        #expect(read.columns == [.originalTransactionID, .status, .expiresDate])
        #expect(read.rows.map(\.status) == [nil, 3])
    }

    @Test func `may have spaces, escapes and CRLF`() throws {
        let read = try read(
            " { \"original\\u005ftransaction_id\" : \"\\u0031\\u0031\" , \"customer_id\" : "
                + "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\" } \r\n")
        #expect(read.bad.isEmpty)
        #expect(read.rows.first?.key.originalTransactionID == "11")
        #expect(read.rows.first?.customerID == "a\"\\/\u{8}\u{C}\n\r\té\u{1F600}")
    }

    @Test(arguments: [
        ("", "is empty"), ("   ", "is empty"), ("[]", "not a JSON object"),
        ("{", "a key in quotes"), ("{}", "original_transaction_id is empty"),
        ("{\"original_transaction_id\":2.00000012E+15}", "rounded number"),
        ("{\"original_transaction_id\":1e3}", "rounded number"),
        ("{\"original_transaction_id\":1.0}", "rounded number"),
        ("{\"original_transaction_id\":-1}", "not a number of digits"),
        ("{\"original_transaction_id\":true}", "not a number of digits"),
        ("{\"original_transaction_id\":null}", "is empty"),
        ("{\"original_transaction_id\":01}", "expected a value"),
        ("{\"original_transaction_id\":nil}", "expected a value"),
        ("{\"original_transaction_id\":}", "expected a value"),
        ("{\"original_transaction_id\":\"1\"", "a comma or }"),
        ("{\"original_transaction_id\":\"1\",}", "a key in quotes"),
        ("{\"original_transaction_id\":\"1\"} x", "behind the JSON object"),
        ("{\"original_transaction_id\":\"1", "a closing quote"),
        ("{\"original_transaction_id\":\"1\\", "a closing quote"),
        ("{\"original_transaction_id\":\"1\\\"}", "a closing quote"),
        ("{\"original_transaction_id\" \"1\"}", "a colon"),
        ("{\"original_transaction_id\":[1]}", "a list or an object"),
        ("{\"original_transaction_id\":{\"a\":1}}", "a list or an object"),
        (
            "{\"original_transaction_id\":\"1\",\"original_transaction_id\":\"2\"}",
            "names \"original_transaction_id\" twice"
        ),
        ("{\"original_transactionid\":\"1\"}", "did you mean \"original_transaction_id\"?"),
        ("{\"original_transaction_id\":\"1\",\"customer_id\":\"\\x\"}", "unknown escape"),
        ("{\"original_transaction_id\":\"1\",\"customer_id\":\"\\ud83d\"}", "surrogate"),
        ("{\"original_transaction_id\":\"1\",\"customer_id\":\"\\u12\"}", "unknown escape"),
        ("{\"original_transaction_id\":\"1\",\"customer_id\":\"\\u0000\"}", "NUL"),
        ("{\"original_transaction_id\":\"1\",\"customer_id\":\"a\tb\"}", "control character"),
        ("{\"original_transaction_id\":\"1\",\"customer_id\":1.5}", "whole number"),
        ("{\"original_transaction_id\":\"1\",\"product_id\":5}", "text in quotes"),
        ("{\"original_transaction_id\":\"1\",\"status\":6}", "is not a status"),
        ("{\"original_transaction_id\":\"1\",\"status\":true}", "is not a status"),
        ("{\"original_transaction_id\":\"1\",\"expires_date\":1700000000000}", "bare number"),
    ])
    func `are bad one by one, with the reason`(line: String, reason: String) throws {
        let read = try read(
            "{\"original_transaction_id\":\"10\"}\n\(line)\n{\"original_transaction_id\":\"12\"}\n")
        #expect(read.rows.map(\.key.originalTransactionID) == ["10", "12"])
        #expect(read.bad.map(\.line) == [2])
        #expect(read.bad.first?.reason.contains(reason) == true, "\(read.bad)")
    }

    @Test func `drop a line that is too long and read on behind it`() throws {
        let long = String(repeating: "x", count: 3 << 20)
        let read = try read(
            "{\"original_transaction_id\":\"10\"}\n"
                + "{\"original_transaction_id\":\"11\",\"customer_id\":\"\(long)\"}\n"
                + "{\"original_transaction_id\":\"12\"}\n")
        #expect(read.rows.map(\.key.originalTransactionID) == ["10", "12"])
        #expect(read.lines == [1, 3])
        #expect(read.bad.map(\.line) == [2])
    }

    @Test func `survive any cutting and any byte without a trap`() throws {
        let seed = UInt64.random(in: 0...(.max))
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let good = Array(
            ("{\"original_transaction_id\":\"11\",\"customer_id\":\"a\\u00e9\\n\",\"status\":1,"
                + "\"expires_date\":\"2026-11-20T03:17:04Z\"}").utf8)
        var bytes: [UInt8] = []
        for _ in 0..<2000 {
            var line = good
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                let place = Int.random(in: 0..<line.count, using: &generator)
                line[place] = UInt8.random(in: 0...255, using: &generator)
            }
            line.removeLast(Int.random(in: 0..<3, using: &generator))
            bytes += line.filter { $0 != 0x0A } + [0x0A]
        }
        for name in [".jsonl", ".csv"] {
            let header = name == ".csv" ? Array("original_transaction_id,customer_id\n".utf8) : []
            let read = try readSubscriptions(header + bytes, as: name)
            #expect(read.rows.count + read.bad.count > 0)
            if name == ".jsonl" { #expect(read.rows.count + read.bad.count == 2000) }
        }
    }
}
