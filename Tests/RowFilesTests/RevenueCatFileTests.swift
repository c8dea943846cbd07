import Foundation
import RowFiles
import Subscriptions
import TestSupport
import Testing

/// Reading RevenueCat's export of transactions, with lines made by hand from its description.
@Suite struct `An export of RevenueCat` {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let needed =
        "store;store_transaction_id;original_store_transaction_id;product_identifier;start_time;"
        + "end_time;refunded_at"

    private static let line =
        "app_store;2000000000000002;2000000000000001;pro.monthly;2026-11-01 08:27:06;"
        + "2026-12-01 08:27:06;"

    private func read(
        _ text: String, gzip: Bool = false
    ) throws -> (lines: [RevenueCatLine?], bad: [BadLine], unknown: [String]) {
        var path = folder.url.appendingPathComponent("transactions.csv").path
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        if gzip {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/gzip")
            process.arguments = ["-f", path]
            try process.run()
            process.waitUntilExit()
            path += ".gz"
        }
        var reader = try RevenueCatFileReader(revenueCatAt: path)
        var lines: [RevenueCatLine?] = []
        var bad: [BadLine] = []
        while let next = try reader.next() {
            switch next {
            case .row(let line, _): lines.append(line)
            case .bad(let line): bad.append(line)
            }
        }
        return (lines, bad, reader.unknownColumns)
    }

    @Test(arguments: [";", ","]) func `has its columns by name, whatever separates them`(
        separator: String
    ) throws {
        let text = """
            updated_at;store;original_store_transaction_id;store_transaction_id;ownership_type;\
            product_identifier;start_time;end_time;refunded_at;is_sandbox;purchased_currency;\
            purchase_price_in_purchased_currency;entitlement_identifiers;new_column
            2026-11-02 00:00:00.5;app_store;2000000000000001;2000000000000002;PURCHASED;\
            pro.monthly;2026-11-01 08:27:06;2026-12-01T08:27:06Z;;false;USD;9.99;["pro"];x

            """.replacing(";", with: separator)
        let read = try read(text)
        #expect(read.bad == [])
        #expect(read.unknown == ["new_column"])
        let line = try #require(read.lines.first ?? nil)
        #expect(line.originalTransactionID == "2000000000000001")
        #expect(line.transactionID == "2000000000000002")
        #expect(line.productID == "pro.monthly")
        #expect(line.startTime == Timestamp(rfc3339: "2026-11-01T08:27:06Z"))
        #expect(line.endTime == Timestamp(rfc3339: "2026-12-01T08:27:06Z"))
        #expect(line.updatedAt == Timestamp(rfc3339: "2026-11-02T00:00:00.500Z"))
        #expect(line.refundedAt == nil)
        #expect(line.isSandbox == false)
        #expect(line.price == 9990)
        #expect(line.currency == "USD")
        #expect(line.entitlements == "pro")
        #expect(line.customerID == nil)
    }

    @Test func `may have JSON with quotes of its own inside fields`() throws {
        // As versions 4 and 5 write it, and as version 6 does.
        let old = Self.line + ";\"{\"$email\": {\"value\": \"a;b\"}}\"\n"
        let new = Self.line + ";\"{\"\"$email\"\": {\"\"value\"\": \"\"a;b\"\"}}\"\n"
        let bare = Self.line + ";{\"$email\": \"a\"}\n"
        let read = try read(
            Self.needed + ";reserved_subscriber_attributes\n" + old + new + bare)
        #expect(read.bad == [])
        #expect(read.lines.count == 3)
        #expect(Set(read.lines.compactMap { $0 }).count == 1)
    }

    @Test(arguments: [
        ("9.99", 9990), ("0", 0), ("-4.5", -4500), ("1234.5678", 1_234_568), ("3600", 3_600_000),
        (".5", 500),
    ]) func `states amounts in thousandths`(text: String, expected: Int64) throws {
        let read = try read(
            Self.needed + ";purchase_price_in_purchased_currency\n\(Self.line);\(text)\n")
        #expect(read.lines.first??.price == expected)
    }

    @Test(arguments: [
        ("[\"pro\",\"extra\"]", "extra,pro"), ("{pro}", "pro"), ("['pro', 'a b']", "a b,pro"),
        (#"["\u30d7\u30ed"]"#, "プロ"), (#"["Kids'", " a {b}"]"#, " a {b},Kids'"), ("[]", ""),
    ]) func `names entitlements in brackets`(text: String, expected: String) throws {
        let field = "\"" + text.replacing("\"", with: "\"\"") + "\""
        let read = try read(Self.needed + ";entitlement_identifiers\n\(Self.line);\(field)\n")
        #expect(read.lines.first??.entitlements == expected)
    }

    @Test func `leaves purchases of other stores unread`() throws {
        let other = "play_store;GPA.3312-1;GPA.3312-1;pro;not a time;;\n"
        let read = try read(Self.needed + "\n" + other + Self.line + "\n")
        #expect(read.bad == [])
        #expect(read.lines.map { $0 == nil } == [true, false])
    }

    @Test(arguments: [
        ("app_store;GPA.1;2000000000000001;p;2026-11-01 08:27:06;;", "store_transaction_id"),
        ("app_store;1;1;p;yesterday;;", "start_time"), (";1;1;p;2026-11-01 08:27:06;;", "store"),
        ("app_store;1;1;p", "fields"),
    ]) func `has bad lines, each with its reason`(line: String, reason: String) throws {
        let read = try read(Self.needed + "\n" + line + "\n" + Self.line + "\n")
        #expect(read.bad.count == 1)
        #expect(read.bad.first?.line == 2)
        #expect(read.bad.first?.reason.contains(reason) == true, "\(read.bad)")
        #expect(read.lines.count == 1)
    }

    @Test(arguments: RevenueCatColumn.required) func `is refused without a needed column`(
        column: RevenueCatColumn
    ) throws {
        let header = Self.needed.split(separator: ";").map {
            $0 == column.rawValue ? "other" : String($0)
        }
        let error = #expect(throws: RowFileError.self) {
            try read(header.joined(separator: ";") + "\n" + Self.line + "\n")
        }
        #expect(error?.description.contains("\"\(column.rawValue)\" is missing") == true)
        #expect(error?.description.contains("--map") == false)
    }

    @Test func `may be packed with gzip, of any size`() throws {
        let many = String(repeating: Self.line + "\n", count: 40_000)
        let read = try read(Self.needed + "\n" + many, gzip: true)
        #expect(read.lines.count == 40_000)
        #expect(read.bad == [])
    }

    @Test(arguments: [false, true])
    func `has the digest of the very bytes that were read`(packed: Bool) throws {
        _ = try read(Self.needed + "\n" + Self.line + "\n", gzip: packed)
        let name = "transactions.csv" + (packed ? ".gz" : "")
        let path = folder.url.appendingPathComponent(name).path
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        var reader = try RevenueCatFileReader(revenueCatAt: path)
        while try reader.next() != nil {}
        // Replaced after it was read.
        try Data("other".utf8).write(to: URL(fileURLWithPath: path))
        let sealed = reader.seal
        let seal = try #require(sealed)
        #expect(seal.path == path)
        #expect(seal.bytes == whole.count)
        #expect(seal.lines == whole.count { $0 == UInt8(ascii: "\n") })
        if !packed {
            #expect(
                seal.sha256 == "11f3c4edb46520b8a9c44b97062eba4af2d2794ce29ef1600ec421d2adda9875")
        }
    }

    @Test func `is refused when its gzip data is damaged or cut`() throws {
        let path = folder.url.appendingPathComponent("transactions.csv.gz").path
        _ = try read(Self.needed + "\n" + Self.line + "\n", gzip: true)
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        for bytes in [whole.dropLast(6), whole.dropLast(8) + Data(repeating: 85, count: 8)] {
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            #expect(throws: RowFileError.self) {
                var reader = try RevenueCatFileReader(revenueCatAt: path)
                while try reader.next() != nil {}
            }
        }
        // Several members in one file are one file.
        try (whole + whole).write(to: URL(fileURLWithPath: path))
        var reader = try RevenueCatFileReader(revenueCatAt: path)
        var count = 0
        while try reader.next() != nil { count += 1 }
        #expect(count == 3)
    }
}
