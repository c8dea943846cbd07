import Subscriptions

/// The small parts of a workbook: of the sheet of findings, and of that of control totals where
/// there is one.
///
/// Source: ECMA-376, Office Open XML File Formats, part 1 (SpreadsheetML) and part 2 (packages).
struct WorkbookParts {
    /// The sheet's name.
    let title: StaticString
    /// The cells with headings and filters, such as `A1:Z96`.
    let filtered: (last: String, row: Int)
    /// The second sheet, as bytes; `nil` for a workbook of one.
    var control: [UInt8]?

    static let sheetName = "xl/worksheets/sheet1.xml"

    /// Names and contents, all but the sheet.
    var all: [(name: String, bytes: [UInt8])] {
        let parts = [
            ("[Content_Types].xml", contentTypes), ("_rels/.rels", packageRelations),
            ("xl/workbook.xml", workbook), ("xl/_rels/workbook.xml.rels", workbookRelations),
            ("xl/styles.xml", styles),
        ].map { (name: $0.0, bytes: Array((Self.declaration + $0.1).utf8)) }
        return parts + (control.map { [(name: ControlSheet.sheetName, bytes: $0)] } ?? [])
    }

    /// A sheet until its first row: the heading stays in sight, columns have a width to be read in.
    static func opening(widths: [Int], isSelected: Bool = false) -> [UInt8] {
        let columns = widths.enumerated().map { index, width in
            "<col min=\"\(index + 1)\" max=\"\(index + 1)\" width=\"\(width)\" customWidth=\"1\"/>"
        }
        let selection = isSelected ? " tabSelected=\"1\"" : ""
        return Array(
            (declaration
                + """
                <worksheet xmlns="\(main)"><sheetViews><sheetView\(selection) workbookViewId="0">\
                <pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>\
                <selection pane="bottomLeft"/></sheetView></sheetViews>\
                <sheetFormatPr defaultRowHeight="15"/><cols>\(columns.joined())</cols><sheetData>

                """).utf8)
    }

    private static let declaration =
        #"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"# + "\n"
    private static let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    private static let types = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    private static let relations =
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    private static let package = "http://schemas.openxmlformats.org/package/2006"

    private var contentTypes: String {
        """
        <Types xmlns="\(Self.package)/content-types">\
        <Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>\
        <Default Extension="xml" ContentType="application/xml"/>\
        <Override PartName="/xl/workbook.xml" ContentType="\(Self.types).sheet.main+xml"/>\
        <Override PartName="/xl/worksheets/sheet1.xml" ContentType="\(Self.types).worksheet+xml"/>\
        \(control == nil ? "" : overrideOfControl)\
        <Override PartName="/xl/styles.xml" ContentType="\(Self.types).styles+xml"/></Types>
        """
    }

    private var overrideOfControl: String {
        """
        <Override PartName="/\(ControlSheet.sheetName)" ContentType="\(Self.types).worksheet+xml"/>
        """
    }

    private var packageRelations: String {
        """
        <Relationships xmlns="\(Self.package)/relationships"><Relationship Id="rId1" \
        Type="\(Self.relations)/officeDocument" Target="xl/workbook.xml"/></Relationships>
        """
    }

    private var workbook: String {
        """
        <workbook xmlns="\(Self.main)" xmlns:r="\(Self.relations)">\
        <bookViews><workbookView/></bookViews><sheets>\
        <sheet name="\(title)" sheetId="1" r:id="rId1"/>\
        \(control == nil ? "" : #"<sheet name="control totals" sheetId="2" r:id="rId3"/>"#)</sheets><definedNames>\
        <definedName name="_xlnm._FilterDatabase" localSheetId="0" hidden="1">\
        \(title)!$A$1:$\(filtered.last)$\(filtered.row)</definedName></definedNames></workbook>
        """
    }

    private var workbookRelations: String {
        """
        <Relationships xmlns="\(Self.package)/relationships">\
        <Relationship Id="rId1" Type="\(Self.relations)/worksheet" Target="worksheets/sheet1.xml"/>\
        \(control == nil ? "" : relationOfControl)\
        <Relationship Id="rId2" Type="\(Self.relations)/styles" Target="styles.xml"/></Relationships>
        """
    }

    private var relationOfControl: String {
        """
        <Relationship Id="rId3" Type="\(Self.relations)/worksheet" Target="worksheets/sheet2.xml"/>
        """
    }

    /// The formats in the order of `Cell.Style`.
    private var styles: String {
        let formats: [(number: Int, font: Int)] = [
            (0, 0), (49, 0), (49, 1), (164, 0), (3, 0), (4, 0), (165, 0), (1, 0),
        ]
        let cells = formats.map { format in
            """
            <xf numFmtId="\(format.number)" fontId="\(format.font)" fillId="0" borderId="0" xfId="0" \
            applyNumberFormat="1"\(format.font == 0 ? "" : " applyFont=\"1\"")/>
            """
        }.joined()
        return """
            <styleSheet xmlns="\(Self.main)"><numFmts count="2">\
            <numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/>\
            <numFmt numFmtId="165" formatCode="#,##0.000"/></numFmts><fonts count="2">\
            <font><sz val="11"/><name val="Calibri"/></font>\
            <font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2">\
            <fill><patternFill patternType="none"/></fill>\
            <fill><patternFill patternType="gray125"/></fill></fills><borders count="1">\
            <border><left/><right/><top/><bottom/><diagonal/></border></borders>\
            <cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/>\
            </cellStyleXfs><cellXfs count="\(formats.count)">\(cells)</cellXfs>\
            <cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>\
            </styleSheet>
            """
    }
}

/// A value of a sheet, of a type that spreadsheets know.
extension Cell {
    /// The formats of cells by their place in `xl/styles.xml`.
    private enum Style: Int {
        case general, text, heading, time, wholeAmount, amount, finerAmount, integer
    }

    /// Appends the cell's element; nothing for an empty one.
    ///
    /// Text is shown as it is, whatever it looks like: no cell of text is ever run as a formula.
    ///
    /// - Parameters:
    ///   - reference: Where it is, such as `B7`.
    ///   - isHeading: Whether a text is the heading of a column.
    ///   - bytes: Takes it.
    func append(at reference: String, isHeading: Bool = false, to bytes: inout [UInt8]) {
        switch self {
        case .null: break
        case .text(let text), .own(let text):
            Self.append(text, isHeading ? .heading : .text, reference, &bytes)
        case .integer(let number):
            Self.append(number: String(number), .integer, reference, &bytes)
        case .amount(let milliunits, let currency):
            let digits = DecimalAmount(milliunits: 0, currency: currency).decimals.utf8.count
            let style: Style = digits == 0 ? .wholeAmount : digits == 3 ? .finerAmount : .amount
            Self.append(number: Self.units(milliunits), style, reference, &bytes)
        case .time(let time):
            if let days = Self.days(time) {
                Self.append(number: days, .time, reference, &bytes)
            } else {
                Self.append(time.rfc3339, .text, reference, &bytes)
            }
        }
    }

    /// The exact amount: rounding is left to the format.
    private static func units(_ milliunits: Int64) -> String {
        let (units, rest) = milliunits.magnitude.quotientAndRemainder(dividingBy: 1000)
        let digits = String(rest + 1000).dropFirst()
        return (milliunits < 0 ? "-" : "") + "\(units).\(digits)"
    }

    /// The days since the end of 1899 by which spreadsheets know a time; `nil` before March 1900,
    /// where they take a leap day for one that there was not, and after 9999.
    private static func days(_ time: Timestamp) -> String? {
        let (day, rest) = time.unixMilliseconds.floorDivided(by: Milliseconds.perDay)
        guard (-25_508...2_932_896).contains(day) else { return nil }
        let fraction = (rest * 10_000_000_000 + Milliseconds.perDay / 2) / Milliseconds.perDay
        return "\(day + 25_569)." + String(fraction + 10_000_000_000).dropFirst()
    }

    private static func append(
        number: String, _ style: Style, _ reference: String, _ bytes: inout [UInt8]
    ) {
        bytes.append(
            contentsOf: "<c r=\"\(reference)\" s=\"\(style.rawValue)\"><v>\(number)</v></c>".utf8)
    }

    private static func append(
        _ text: String, _ style: Style, _ reference: String, _ bytes: inout [UInt8]
    ) {
        let attributes = "r=\"\(reference)\" s=\"\(style.rawValue)\" t=\"inlineStr\""
        let isPadded = text.utf8.first == 0x20 || text.utf8.last == 0x20
        let space = isPadded ? " xml:space=\"preserve\"" : ""
        bytes.append(contentsOf: "<c \(attributes)><is><t\(space)>".utf8)
        if text.utf8.count < 3000, text.utf8.allSatisfy(Self.isPlain) {
            // Nearly all of a report: ids, names, digests.
            bytes.append(contentsOf: text.utf8)
        } else {
            var markup = Markup()
            markup.text(shortened(withoutEscapes(text)))
            bytes.append(contentsOf: markup.bytes)
        }
        bytes.append(contentsOf: "</t></is></c>".utf8)
    }

    /// Printable ASCII that needs no escape, in names such as `not_found` either.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""): false
        // Of the escapes `_x0041_`, which spreadsheets read; kinds and states have no such letter.
        case UInt8(ascii: "x"), UInt8(ascii: "X"): false
        default: byte >= 0x20 && byte < 0x7F
        }
    }

    /// A cell takes 32,767 UTF-16 units, and one character of the text may be written out as ten.
    private static func shortened(_ text: String) -> String {
        guard text.utf8.count > 3000 else { return text }
        return String(text.prefix(3000)) + "… (whole in discrepancies.jsonl)"
    }

    /// Spreadsheets read `_x0041_` as the character with that number; the sign is named by its own.
    private static func withoutEscapes(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "_")) else { return text }
        let bytes = Array(text.utf8)
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "_"), isEscape(bytes[index...].prefix(7)) {
                output.append(contentsOf: "_x005F".utf8)
            }
            output.append(byte)
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func isEscape(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.count == 7 && bytes.last == UInt8(ascii: "_")
            && (bytes.dropFirst().first == UInt8(ascii: "x")
                || bytes.dropFirst().first == UInt8(ascii: "X"))
            && bytes.dropFirst(2).dropLast().allSatisfy {
                Character(Unicode.Scalar($0)).isHexDigit
            }
    }
}

/// A ZIP archive whose entries are stored as they are, without compression.
///
/// Entry by entry: the size and checksum of each must be known before its bytes follow, so that
/// even readers that never go back can follow. All entries have one fixed time, so that the same
/// contents give the same bytes. Entries and offsets must stay below 4 GiB: there is no zip64.
/// Source: PKWARE, APPNOTE.TXT, .ZIP File Format Specification.
struct StoredArchive {
    private struct Entry {
        let name: [UInt8]
        let size: UInt32
        let checksum: UInt32
        let offset: UInt32
    }

    private var entries: [Entry] = []
    private var offset: UInt32 = 0

    /// The bytes before those of an entry.
    mutating func opening(of name: String, holding content: Checksum) -> [UInt8] {
        let entry = Entry(
            name: Array(name.utf8), size: UInt32(clamping: content.bytes),
            checksum: content.value, offset: offset)
        entries.append(entry)
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(UInt32(0x0403_4B50))
        Self.append(entry, to: &bytes)
        bytes.append(contentsOf: entry.name)
        advance(by: UInt32(clamping: bytes.count))
        advance(by: entry.size)
        return bytes
    }

    /// A whole entry.
    mutating func entry(_ name: String, holding bytes: [UInt8]) -> [UInt8] {
        var checksum = Checksum()
        checksum.update(bytes)
        return opening(of: name, holding: checksum) + bytes
    }

    /// The end of the archive: its directory.
    func directory() -> [UInt8] {
        var bytes: [UInt8] = []
        for entry in entries {
            bytes.appendLittleEndian(UInt32(0x0201_4B50))
            bytes.appendLittleEndian(Self.version)
            Self.append(entry, to: &bytes)
            // Comment, disk, internal and external attributes.
            bytes.append(contentsOf: [UInt8](repeating: 0, count: 2 + 2 + 2 + 4))
            bytes.appendLittleEndian(entry.offset)
            bytes.append(contentsOf: entry.name)
        }
        let size = UInt32(clamping: bytes.count)
        let count = UInt16(clamping: entries.count)
        bytes.appendLittleEndian(UInt32(0x0605_4B50))
        // This disk, and the one on which the directory begins.
        bytes.append(contentsOf: [UInt8](repeating: 0, count: 2 + 2))
        bytes.appendLittleEndian(count)
        bytes.appendLittleEndian(count)
        bytes.appendLittleEndian(size)
        bytes.appendLittleEndian(offset)
        // The length of a comment.
        bytes.appendLittleEndian(UInt16(0))
        return bytes
    }

    private static let version: UInt16 = 20
    /// 1980-01-01, the first day that the format has.
    private static let day: UInt16 = 0x0021

    /// Appends the part that a local header and the directory share.
    private static func append(_ entry: Entry, to bytes: inout [UInt8]) {
        bytes.appendLittleEndian(version)
        // Flags, method "stored", time.
        bytes.append(contentsOf: [UInt8](repeating: 0, count: 2 + 2 + 2))
        bytes.appendLittleEndian(day)
        bytes.appendLittleEndian(entry.checksum)
        bytes.appendLittleEndian(entry.size)
        bytes.appendLittleEndian(entry.size)
        bytes.appendLittleEndian(UInt16(clamping: entry.name.count))
        // The length of an extra field.
        bytes.appendLittleEndian(UInt16(0))
    }

    private mutating func advance(by count: UInt32) {
        let (sum, overflow) = offset.addingReportingOverflow(count)
        offset = overflow ? .max : sum
    }
}

/// The size and the CRC-32 of what passed, as ZIP states both.
struct Checksum: Equatable {
    private(set) var bytes = 0
    private(set) var value: UInt32 = 0

    mutating func update(_ piece: [UInt8]) {
        // Without bytes zlib begins again.
        guard !piece.isEmpty else { return }
        bytes += piece.count
        value = PackedMembers.checksum(of: piece[...], after: value)
    }
}

extension [UInt8] {
    fileprivate mutating func appendLittleEndian(_ number: some FixedWidthInteger) {
        for shift in stride(from: 0, to: number.bitWidth, by: 8) {
            append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}
