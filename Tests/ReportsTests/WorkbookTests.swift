import Foundation
import Subscriptions
import Testing

@testable import Reports

@Suite struct `The workbook of findings` {
    private static let pythonIsHere = (try? shell("python3 -c 1", in: "/"))?.status == 0
    private static let officeIsHere = (try? shell("command -v soffice", in: "/"))?.status == 0

    /// Reads a workbook as a stranger does: each row a line, each cell as type, style and value.
    private static let reading = #"""
        import sys, zipfile
        import xml.etree.ElementTree as xml
        archive = zipfile.ZipFile(sys.argv[1])
        assert archive.testzip() is None
        for name in archive.namelist(): xml.fromstring(archive.read(name))
        space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
        styles = xml.fromstring(archive.read("xl/styles.xml"))
        formats = [f.get("numFmtId") for f in styles.find(space + "cellXfs")]
        codes = {f.get("numFmtId"): f.get("formatCode") for f in styles.iter(space + "numFmt")}
        book = xml.fromstring(archive.read("xl/workbook.xml"))
        print("names", [n.text for n in book.iter(space + "definedName")])
        sheet = xml.fromstring(archive.read("xl/worksheets/sheet1.xml"))
        print("filter", sheet.find(space + "autoFilter").get("ref"))
        print("pane", sheet.find(".//" + space + "pane").attrib)
        assert not list(sheet.iter(space + "f"))
        for row in sheet.iter(space + "row"):
            for cell in row:
                kind = cell.get("t", "n")
                text = cell.find(space + "is/" + space + "t") if kind == "inlineStr" else cell.find(space + "v")
                form = formats[int(cell.get("s", "0"))]
                print(cell.get("r"), kind, codes.get(form, form), ascii(text.text))
        """#

    private func read(_ folder: TemporaryFolder) throws -> [String] {
        try folder.write(Self.reading, to: "read.py")
        let result = try shell("python3 read.py latest/discrepancies.xlsx", in: folder.path)
        try #require(result.status == 0, "\(result.output)")
        return result.output.split(separator: "\n").map(String.init)
    }

    @Test(.enabled(if: pythonIsHere, "needs python3"))
    func `holds ids as text, amounts as numbers and times as dates`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.report()
        let lines = try read(folder)
        for line in [
            "names ['findings!$A$1:$Y$3']", "filter A1:Y3",
            "A1 inlineStr 49 'finding_id'", "R1 inlineStr 49 'amount_in_currency'",
            "Y1 inlineStr 49 'amount_milliunits'",
            "H2 inlineStr 49 '2000000000000001'", "M2 n 1 '2'",
            // 2026-11-01 is day 46,327 of a spreadsheet.
            "O2 n yyyy\\-mm\\-dd\\ hh:mm:ss '46327.0000000000'", "R2 n 4 '9.990'", "Y2 n 1 '9990'",
        ] {
            #expect(lines.contains(line), "\(line) in \(lines)")
        }
        #expect(lines.contains { $0.hasPrefix("pane ") && $0.contains("'state': 'frozen'") })
        #expect(!lines.contains { $0.hasPrefix("H3 ") }, "a finding without subscription")
    }

    @Test(.enabled(if: pythonIsHere, "needs python3"))
    func `shows foreign text as text, whatever it looks like`() throws {
        let folder = try TemporaryFolder()
        var run = try Samples.run()
        var finding = Samples.finding
        finding.finding.customerID = "=1+1 <&> _x0041_ \u{1}\u{202E}\u{FFFE}"
        finding.finding.productID = String(repeating: "é", count: 40_000)
        finding.finding.amount = -538_000
        finding.finding.currency = "JPY"
        finding.finding.appleValue = .time(Timestamp(unixMilliseconds: .min))
        run.findings = [finding]
        _ = try folder.report(run)
        let lines = try read(folder)
        #expect(
            lines.contains(
                #"J2 inlineStr 49 '=1+1 <&> _x005F_x0041_ \\u{1}\\u{202e}\\u{fffe}'"#), "\(lines)")
        #expect(lines.contains { $0.hasPrefix("K2 inlineStr") && $0.contains("(whole in") })
        #expect(lines.contains("R2 n 3 '-538.000'"))
        #expect(lines.contains { $0.hasPrefix("N2 inlineStr 49 '-") }, "no date of a spreadsheet")
    }

    @Test func `ends with a sentence where a sheet takes no more rows`() throws {
        let context = Samples.context
        var run = try Samples.run()
        run.findings = Array(repeating: Samples.finding, count: 5)
        let source = try ReportSource(run, run.runSummary, context: context, shownPath: "")
        var bytes: [UInt8] = []
        let last = try FindingSheet(source, rowLimit: 4).write { bytes += $0 }
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(last == 3)
        #expect(text.contains("<autoFilter ref=\"A1:Y3\"/>"))
        #expect(text.contains("<row r=\"4\"><c r=\"A4\""))
        #expect(text.contains(FindingSheet.remark))
        #expect(!text.contains("<row r=\"5\">"))
    }

    @Test func `has the checksums of its format`() {
        var checksum = Checksum()
        checksum.update(Array("1234".utf8))
        checksum.update(Array("56789".utf8))
        // The check value of CRC-32, as its catalogues state it.
        #expect(checksum.value == 0xCBF4_3926)
    }

    private static func counted() throws -> StoredRun {
        var run = try Samples.run()
        let before = ControlSums(
            statuses: [1: 1_000, 0: 9], prices: ["EUR": .init(periods: 900, amount: 8_991_000)])
        run.runSummary.control = ControlTotals(
            ledgerEntry: 7,
            apps: [
                AppControlTotals(
                    bundleID: "com.example.app", environment: "Production", previous: nil,
                    uncounted: ControlSums(), before: before, corrections: ControlSums(),
                    after: before,
                    judged: JudgedTotals(
                        before: ControlSums(), apple: ControlSums(), after: ControlSums()))
            ])
        return run
    }

    @Test(.enabled(if: pythonIsHere, "needs python3"))
    func `has the control totals in a second sheet where they were counted`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.report(Self.counted())
        // The first sheet is as it was, and every part is still read.
        #expect(try read(folder).contains("filter A1:Y3"))
        let list =
            "import zipfile; print(zipfile.ZipFile('latest/discrepancies.xlsx').read("
            + "'xl/worksheets/sheet2.xml').decode())"
        let sheet = try shell("python3 -c \"\(list)\"", in: folder.path)
        #expect(sheet.status == 0, "\(sheet.output)")
        for cell in ["others_meanwhile", "<v>8991.000</v>", "<v>8991000</v>", "<v>1000</v>"] {
            #expect(sheet.output.contains(cell), "\(cell)")
        }
    }

    @Test(.enabled(if: officeIsHere, "not tested: needs LibreOffice (soffice)"))
    func `both sheets are opened by LibreOffice`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.report(Self.counted())
        // A file for each sheet.
        let filter =
            "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1"
        let result = try shell(
            "HOME=$PWD soffice --headless --convert-to \"\(filter)\" --outdir out "
                + "latest/discrepancies.xlsx", in: folder.path)
        #expect(result.status == 0, "\(result.output)")
        let rows = try folder.text("out/discrepancies-control totals.csv").split(separator: "\n")
        #expect(rows.first?.hasPrefix("app,environment,count,of,status_or_currency,number") == true)
        #expect(rows.contains { $0.contains(",after,prices,EUR,900,") })
        #expect(try folder.text("out/discrepancies-findings.csv").split(separator: "\n").count == 3)
    }

    @Test(.enabled(if: officeIsHere, "not tested: needs LibreOffice (soffice)"))
    func `is opened by LibreOffice`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.report()
        let result = try shell(
            "HOME=$PWD soffice --headless --convert-to csv --outdir out latest/discrepancies.xlsx",
            in: folder.path)
        #expect(result.status == 0, "\(result.output)")
        let rows = try folder.text("out/discrepancies.csv").split(separator: "\n")
        #expect(rows.count == 3)
        #expect(rows.first?.hasPrefix("finding_id,run_id,kind,") == true)
        #expect(rows.dropFirst().first?.contains(",2000000000000001,") == true)
        #expect(rows.dropFirst().first?.contains(",2026-11-01 00:00:00,") == true)
        #expect(rows.dropFirst().first?.contains(",9.99,USD,") == true)
    }
}
