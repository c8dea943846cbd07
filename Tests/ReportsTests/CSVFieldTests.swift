import Reports
import Subscriptions
import Testing

@Suite struct `CSV fields` {
    static func productField(_ product: String) throws -> String {
        var reported = Samples.bareFinding
        reported.finding.productID = product
        let folder = try TemporaryFolder()
        var run = try Samples.run()
        run.findings = [reported]
        _ = try folder.report(run)
        let line = try folder.text("latest/discrepancies.csv").drop { $0 != "\r\n" }.dropFirst()
        let before =
            "f-2,20261120T031704Z-7f3c9a,unknown_value,info,new,com.example.app,Production,,,,"
        try #require(line.hasPrefix(before))
        return String(
            line.dropFirst(before.count).dropLast(
                ",,,,,,neutral,,,,,none,2026-11-20T03:17:04.000Z,,\r\n".count))
    }

    @Test(arguments: [
        ("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
        ("+1", "'+1"), ("-2+3", "'-2+3"), ("@cmd", "'@cmd"), ("  =1", "'  =1"),
        ("\t=1", "'\t'=1"), ("\tx", "'\tx"), ("\rx", "\"'\rx\""), ("\nx", "\"'\nx\""),
        ("\u{FF1D}1", "'\u{FF1D}1"), ("\u{FF20}x", "'\u{FF20}x"), ("\u{200B}=1", "'\u{200B}=1"),
        ("\u{FEFF}-1", "'\u{FEFF}-1"), ("\u{A0}=1", "'\u{A0}=1"), ("\u{202E}=1", "'\u{202E}=1"),
        ("\0=1", "'\u{FFFD}=1"),
    ])
    func `defuses what a spreadsheet would run`(text: String, field: String) throws {
        #expect(try Self.productField(text) == field)
    }

    /// In a file opened with another separator, a text's own separators begin cells, and the quotes
    /// around it protect nothing.
    @Test(arguments: [
        ("x;=1+1", "'x;'=1+1"), (";=1", "';'=1"), ("x; =1", "'x; '=1"), ("x\t@cmd", "'x\t'@cmd"),
        ("x,=1", "\"'x,'=1\""), ("x|-1", "'x|'-1"), ("x\n+1", "\"'x\n'+1\""),
        ("x\r\n=1", "\"'x\r\n'=1\""), ("x;\"=1\"", "\"'x;\"\"'=1\"\"\""),
        ("x;\u{FF1D}1", "'x;'\u{FF1D}1"), ("=a;=b;c=d", "'=a;'=b;c=d"), ("\"=1", "\"'\"\"=1\""),
        ("x;\u{200B}=1", "'x;\u{200B}'=1"),
    ])
    func `defuses what begins a cell inside a text, too`(text: String, field: String) throws {
        #expect(try Self.productField(text) == field)
    }

    @Test(arguments: [
        ("a;b", "a;b"), ("a;b=c", "a;b=c"), ("a\tb", "a\tb"), ("x; y-z", "x; y-z"),
        ("pro.monthly", "pro.monthly"), ("a=b", "a=b"), ("1-2", "1-2"), ("", ""),
        ("say \"hi\"", "\"say \"\"hi\"\"\""), ("a,b", "\"a,b\""), ("a\nb", "\"a\nb\""),
        ("a\r\nb", "\"a\r\nb\""), ("a\0b", "a\u{FFFD}b"), ("\u{202E}abc", "\u{202E}abc"),
        ("<script>", "<script>"), (" x ", "\" x \""), ("ключ", "ключ"),
    ])
    func `leaves other texts as they are, quoted where RFC 4180 wants it`(
        text: String, field: String
    ) throws {
        #expect(try Self.productField(text) == field)
    }

    @Test func `does not defuse negative amounts`() throws {
        var reported = Samples.finding
        reported.finding.amount = -500
        var run = try Samples.run()
        run.findings = [reported]
        let folder = try TemporaryFolder()
        _ = try folder.report(run)
        #expect(try folder.text("latest/discrepancies.csv").contains(",customer_loses,-500,USD,"))
    }
}
