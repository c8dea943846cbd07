import RowFiles
import Subscriptions
import Testing

@Suite struct `CSV` {
    private func ids(_ text: String) throws -> [String] {
        try readSubscriptions(text).rows.map(\.key.originalTransactionID)
    }

    @Test func `may name its columns in any order, and only some`() throws {
        let read = try readSubscriptions("status,original_transaction_id\n2,11\n,12\n")
        #expect(read.columns == [.status, .originalTransactionID])
        #expect(read.rows.map(\.key.originalTransactionID) == ["11", "12"])
        #expect(read.rows.map(\.status) == [2, nil])
        #expect(read.lines == [2, 3])
        #expect(read.bad.isEmpty)
    }

    @Test(arguments: ["\n", "\r\n"])
    func `ends lines with LF or CRLF, the last one optionally`(end: String) throws {
        #expect(try ids("original_transaction_id\(end)11\(end)12\(end)") == ["11", "12"])
        #expect(try ids("original_transaction_id\(end)11\(end)12") == ["11", "12"])
    }

    @Test func `may begin with a byte order mark`() throws {
        #expect(try ids("\u{FEFF}original_transaction_id\n11\n") == ["11"])
    }

    @Test func `holds commas, quotes and line ends in quoted fields`() throws {
        let read = try readSubscriptions(
            "\"original_transaction_id\",customer_id\r\n11,\"a,\"\"b\"\"\r\nc\"\r\n\"12\",\"\"\r\n13,d\r\n"
        )
        #expect(read.rows.map(\.customerID) == ["a,\"b\"\r\nc", nil, "d"])
        #expect(read.lines == [2, 4, 5])
        #expect(read.bad.isEmpty)
    }

    @Test func `keeps spaces, a lone carriage return and any letters in texts`() throws {
        let read = try readSubscriptions(
            "original_transaction_id,customer_id\n11, x \n12,a\rb\n13,\u{1F600}é\u{202E}\n")
        #expect(read.rows.map(\.customerID) == [" x ", "a\rb", "\u{1F600}é\u{202E}"])
    }

    @Test func `names the line of a row that comes after records of several lines`() throws {
        let read = try readSubscriptions(
            "original_transaction_id,customer_id\n11,\"1\n2\n3\"\nx,y\n")
        #expect(read.bad.map(\.line) == [5])
    }

    @Test(arguments: [
        ("", "is empty"), ("11", "has 1 fields where the header names 2"),
        ("11,a,b", "has 3 fields"), ("11,a\"b\"", "quote inside a field"),
        ("11,\"a\"b", "behind a closing quote"), (",a", "original_transaction_id is empty"),
    ])
    func `calls a broken line bad and reads on`(line: String, reason: String) throws {
        let read = try readSubscriptions(
            "original_transaction_id,customer_id\n10,x\n\(line)\n12,y\n")
        #expect(read.rows.map(\.key.originalTransactionID) == ["10", "12"])
        #expect(read.lines == [2, 4])
        #expect(read.bad.map(\.line) == [3])
        #expect(read.bad.first?.reason.contains(reason) == true, "\(read.bad)")
    }

    @Test func `calls an unclosed quote bad`() throws {
        let read = try readSubscriptions("original_transaction_id,customer_id\n11,\"a\n12,b\n")
        #expect(read.rows.isEmpty)
        #expect(read.bad.map(\.line) == [2])
        #expect(read.bad.first?.reason.contains("never closed") == true)
    }

    @Test func `refuses invalid UTF-8 and NUL in the line where they stand`() throws {
        let head = Array("original_transaction_id,customer_id\n11,".utf8)
        for middle in [[0xFF], [0xC3], [0x61, 0x00], [0xED, 0xA0, 0x80]] as [[UInt8]] {
            let read = try readSubscriptions(head + middle + Array("\n12,b\n".utf8))
            #expect(read.bad.map(\.line) == [2])
            #expect(read.rows.map(\.customerID) == ["b"])
        }
    }

    @Test func `drops a line that is too long and reads on behind it`() throws {
        let long = String(repeating: "x", count: 3 << 20)
        for field in [long, "\"" + long + "\"", "\"a\nb" + long + "\""] {
            let read = try readSubscriptions(
                "original_transaction_id,customer_id\n10,a\n11,\(field)\n12,b\n")
            #expect(read.rows.map(\.key.originalTransactionID) == ["10", "12"])
            #expect(read.bad.count == 1)
            #expect(read.bad.first?.line == 3)
            #expect(read.bad.first?.reason.contains("longer than") == true)
            #expect(read.lines.last == (field.contains("\n") ? 5 : 4))
        }
    }

    @Test func `keeps a field of nearly the longest length, wherever chunks end`() throws {
        let long = String(repeating: "é", count: 500_000)
        let read = try readSubscriptions(
            "original_transaction_id,customer_id\n11,\(long)\n12,\"\(long)\"\n13,c\n")
        #expect(read.rows.map(\.customerID) == [long, long, "c"])
    }

    @Test(arguments: [
        ("", "FILE: is empty; a CSV file begins with a line that names its columns"),
        (
            "original_transaction_id,statsu\n",
            "FILE:1: unknown column \"statsu\"; did you mean \"status\"?"
        ),
        (
            "original_transaction_id, status\n",
            "FILE:1: unknown column \" status\"; did you mean \"status\"?"
        ),
        (
            "status,original_transaction_id,status\n",
            "FILE:1: column \"status\" is listed twice"
        ),
        ("status\n", "FILE:1: column \"original_transaction_id\" is missing and required"),
        ("\n1\n", "FILE:1: unknown column \"\"; trueup knows original_transaction_id, environment"),
        ("\u{1F}\u{8B}", "unknown column"),
    ])
    func `says what is wrong with its header`(text: String, says: String) throws {
        let error = try #require(try fileError(text))
        #expect(error.contains(says), "\(error)")
    }

    @Test func `is refused when it is UTF-16 or damaged gzip`() throws {
        for (bytes, says) in [
            ([0xFF, 0xFE, 0x6F, 0x00], "UTF-16"), ([0x1F, 0x8B, 8], "gzip"),
        ]
            as [([UInt8], String)]
        {
            let file = try RowFixture(bytes, name: ".csv")
            do throws(RowFileError) {
                _ = try SubscriptionFileReader(subscriptionsAt: file.path, apps: oneApp)
                Issue.record("it was accepted")
            } catch {
                #expect(error.description.contains(says))
            }
        }
    }

    @Test func `may have a header and no rows`() throws {
        let read = try readSubscriptions("original_transaction_id\n")
        #expect(read.rows.isEmpty)
        #expect(read.bad.isEmpty)
    }
}
