import JSONWebSignature
import Testing

@Suite struct `Strict JSON` {
    @Test(arguments: [
        "{}", "[]", " [1, 2.5e3, -0, true, false, null, \"x\"] ", "{\"a\":{\"b\":[[],{}]}}",
        "\"\\u00e4\\n\\ud83d\\ude00\"", "\"ä\"", "0", "{\"a\":1,\"a\":2}",
    ])
    func `reads`(text: String) throws {
        _ = try JSONDocument(Array(text.utf8))
    }

    @Test(arguments: [
        "", " ", "{", "[", "}", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
        "{a:1}",
        "{1:2}", "[1]]", "[1]x", "{}{}", "01", "+1", "1.", ".5", "1e", "-", "NaN", "Infinity",
        "tru", "nulll", "'a'", "\"", "\"a", "\"\\x41\"", "\"\\u12g4\"", "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"", "\"a\nb\"", "\"\u{1}\"", "//c\n1", "/**/1", "\u{FEFF}1", "[1}", "{]",
    ])
    func `refuses`(text: String) {
        #expect(throws: JSONWebSignatureError.self) { try JSONDocument(Array(text.utf8)) }
    }

    @Test func `refuses bytes that are not UTF-8`() {
        let texts: [[UInt8]] = [
            [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xFF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
            [0xFF, 0xFE, 0x31, 0x00],
        ]
        for bytes in texts {
            #expect(throws: JSONWebSignatureError.self) { try JSONDocument(bytes) }
        }
    }

    @Test func `refuses deep nesting without overflowing the stack`() {
        let deep = [UInt8](repeating: UInt8(ascii: "["), count: 3_000_000)
        #expect(throws: JSONWebSignatureError.self) { try JSONDocument(deep) }
    }

    @Test func `resolves escapes in names and texts`() throws {
        let root = try JSONDocument(Array("{\"\\u0061lg\":\"\\ud83d\\ude00\\/\\t\"}".utf8)).root
        let member = try #require(root.members.first)
        #expect(member.name.isText("alg"))
        #expect(member.value.text == "😀/\t")
    }

    @Test(arguments: [
        ("0", 0), ("-0", 0), ("9223372036854775807", Int64.max),
        ("-9223372036854775808", Int64.min), ("1750000000000.000", 1_750_000_000_000),
        ("9.99e3", 9990), ("9990E0", 9990), ("120e-1", 12), ("0e999999", 0),
        ("999999999999999999", 999_999_999_999_999_999),
        ("1000000000000000000", 1_000_000_000_000_000_000),
        ("9223372036854775808", nil), ("-9223372036854775809", nil), ("1.5", nil), ("1e400", nil),
        ("1e99999999999999999999", nil), ("1e-5", nil),
    ])
    func `reads whole numbers exactly`(text: String, expected: Int64?) throws {
        #expect(try JSONDocument(Array(text.utf8)).root.integer == expected)
    }

    @Test(arguments: [
        ("1697679936049.7297", 1_697_679_936_049), ("-1.5", -2), ("0.9", 0), ("-0.1", -1),
        ("1e400", nil),
    ])
    func `rounds moments down`(text: String, expected: Int64?) throws {
        #expect(try JSONDocument(Array(text.utf8)).root.integerRoundedDown == expected)
    }
}
