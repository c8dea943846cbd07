import Subscriptions
import Testing

@Suite struct `Canonical JSON text` {
    @Test func `has one spelling`() {
        let value = CanonicalJSON.object([
            "b": .array([.null, .boolean(true), .boolean(false), .integer(-7)]),
            "a": .object([:]), "ab": .array([]), "B": .string("x"),
        ])
        #expect(value.rendered == #"{"B":"x","a":{},"ab":[],"b":[null,true,false,-7]}"#)
    }

    @Test func `sorts members by their bytes`() {
        let value = CanonicalJSON.object([
            "é": .null, "z": .null, "\u{FF21}": .null, "🙂": .null, "A": .null,
        ])
        #expect(value.rendered == "{\"A\":null,\"z\":null,\"é\":null,\"\u{FF21}\":null,\"🙂\":null}")
    }

    @Test(arguments: [
        ("\"", #""\"""#), ("\\", #""\\""#), ("/", #""/""#), ("\n\r\t", #""\n\r\t""#),
        ("\u{0}\u{1F}\u{7F}", #""\u0000\u001f\u007f""#), ("\u{2028}\u{2029}", #""\u2028\u2029""#),
        ("=HYPERLINK(1)", #""=HYPERLINK(1)""#), ("é🙂\u{202E}", "\"é🙂\u{202E}\""),
        ("e\u{301}", "\"e\u{301}\""), ("\r\n", #""\r\n""#),
    ])
    func `escapes what must be escaped and nothing else`(text: String, rendered: String) {
        #expect(
            CanonicalJSON.string(text).rendered.unicodeScalars.elementsEqual(
                rendered.unicodeScalars))
    }

    @Test func `writes the whole range of integers`() {
        #expect(CanonicalJSON.integer(.max).rendered == "9223372036854775807")
        #expect(CanonicalJSON.integer(.min).rendered == "-9223372036854775808")
    }

    @Test func `writes what is absent as null`() {
        #expect(CanonicalJSON.text(nil) == .null)
        #expect(CanonicalJSON.time(nil) == .null)
        #expect(
            CanonicalJSON.time(Timestamp(unixMilliseconds: 0)).rendered
                == #""1970-01-01T00:00:00.000Z""#)
    }
}
