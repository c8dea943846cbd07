import Subscriptions

/// The columns of one kind of record, for both of its files.
///
/// JSON Lines and CSV are made from one list, so that they cannot differ. A JSON line has the bytes
/// of `CanonicalJSON`, without a dictionary to build and sort for each of millions of records.
struct Table<Record>: Sendable {
    /// A column: its name and how a record's value is found.
    typealias Column = (name: String, cell: @Sendable (Record) -> Cell)

    let columns: [Column]
    /// Columns in the order of their names' bytes, each with what is before its value.
    private let members: [(opening: [UInt8], cell: @Sendable (Record) -> Cell)]

    init(_ columns: [Column]) {
        self.columns = columns
        let sorted = columns.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        self.members = sorted.enumerated().map { index, column in
            let opening = (index == 0 ? "{" : ",") + CanonicalJSON.string(column.name).rendered
            return (Array((opening + ":").utf8), column.cell)
        }
    }

    /// The table with the run's id as its first column.
    func of(run runID: String) -> Table {
        let cell: @Sendable (Record) -> Cell = { _ in .own(runID) }
        return Table([("run_id", cell)] + columns)
    }

    /// The table with the notice as its last column.
    func stating(_ notice: String?) -> Table {
        guard let notice else { return self }
        // It may quote arguments of the command line.
        let cell: @Sendable (Record) -> Cell = { _ in .text(notice) }
        return Table(columns + [("notice", cell)])
    }

    /// The header line of the CSV file.
    var csvHeader: String { columns.map(\.name).joined(separator: ",") + "\r\n" }

    func appendCSV(_ record: Record, to bytes: inout [UInt8]) {
        for (index, column) in columns.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            column.cell(record).appendCSV(to: &bytes)
        }
        bytes.append(0x0D)
        bytes.append(0x0A)
    }

    func appendJSON(_ record: Record, to bytes: inout [UInt8]) {
        for member in members {
            bytes.append(contentsOf: member.opening)
            member.cell(record).appendJSON(to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
        bytes.append(0x0A)
    }
}

/// One value of a table, and whether a spreadsheet could run it as a formula.
enum Cell {
    case null
    /// Text from outside: Apple, the company's table, a customer.
    case text(String)
    /// Text that this program made: names, digests, times. Never defused.
    case own(String)
    case integer(Int64)
    /// In UTC.
    case time(Timestamp)
    /// A workbook shows it in units of the currency, other files in milliunits.
    case amount(milliunits: Int64, currency: String?)

    init(_ value: String?) { self = value.map(Cell.text) ?? .null }
    static func own(_ value: String?) -> Cell { value.map(Cell.own) ?? .null }

    static func amount(_ milliunits: Int64?, in currency: String?) -> Cell {
        milliunits.map { .amount(milliunits: $0, currency: currency) } ?? .null
    }

    init(_ value: Timestamp?) { self = value.map(Cell.time) ?? .null }
    init(_ value: Int64?) { self = value.map(Cell.integer) ?? .null }
    init(_ value: Int?) { self = value.map { .integer(Int64($0)) } ?? .null }
    init(_ value: EvidenceDigest?) { self = value.map { .own($0.hexadecimal) } ?? .null }

    init(_ value: FieldValue) {
        switch value {
        case .null: self = .null
        case .text(let text): self = .text(text)
        case .integer(let number): self = .integer(number)
        case .time(let time): self = .time(time)
        }
    }

    /// Appends the value as it is in JSON Lines.
    func appendJSON(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .integer(let number), .amount(let number, _):
            bytes.append(contentsOf: String(number).utf8)
        case .text(let text), .own(let text): CanonicalJSON.append(quoted: text, to: &bytes)
        case .time(let time): CanonicalJSON.append(quoted: time.rfc3339, to: &bytes)
        }
    }

    /// Appends the value as a CSV field; nothing for null.
    func appendCSV(to bytes: inout [UInt8]) {
        switch self {
        case .null: break
        case .integer(let number), .amount(let number, _):
            bytes.append(contentsOf: String(number).utf8)
        case .text(let text): Self.append(text, isForeign: true, to: &bytes)
        case .own(let text): Self.append(text, isForeign: false, to: &bytes)
        case .time(let time): Self.append(time.rfc3339, isForeign: false, to: &bytes)
        }
    }
}

extension Cell {
    /// Appends a text field of RFC 4180 that no spreadsheet runs as a formula.
    ///
    /// Foreign text that a spreadsheet would take for a formula is defused. NUL, at which readers
    /// of CSV stop, becomes U+FFFD; JSON Lines holds the exact text.
    private static func append(_ text: String, isForeign: Bool, to bytes: inout [UInt8]) {
        var special = false
        var hasNUL = false
        for byte in text.utf8 where byte < 0x2D {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: ","), 0x0A, 0x0D: special = true
            case 0: hasNUL = true
            default: break
            }
        }
        var field = isForeign ? defused(text) : text
        if hasNUL {
            field = String(
                String.UnicodeScalarView(
                    field.unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 }))
        }
        // Blanks at the ends are quoted because readers may trim them.
        let isPadded = field.utf8.first == 0x20 || field.utf8.last == 0x20
        guard special || isPadded else {
            bytes.append(contentsOf: field.utf8)
            return
        }
        bytes.append(UInt8(ascii: "\""))
        for byte in field.utf8 {
            if byte == UInt8(ascii: "\"") { bytes.append(byte) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// The text with an apostrophe in front of whatever a spreadsheet may run.
    ///
    /// It runs a cell that begins with `=`, `+`, `-` or `@`, in full width too, after white space,
    /// marks that show nothing, or quotes; or with a tab or line break, which some drop. A cell
    /// need not be a field: opened with another separator than the comma, where a quote in the
    /// middle of a line protects nothing, every `;` or tab of a text begins a cell. Where that
    /// happens, the field begins with an apostrophe too, so that a reader sees that it was changed.
    /// Source: OWASP, CSV injection.
    private static func defused(_ text: String) -> String {
        guard mayRun(text) else { return text }
        var defused = String.UnicodeScalarView()
        // Nothing was read since the cell began that keeps a spreadsheet from running it.
        var isAtStartOfCell = true
        var isFirstCell = true
        var isChanged = false
        for scalar in text.unicodeScalars {
            switch scalar {
            case "=", "+", "-", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}":
                if isAtStartOfCell {
                    isChanged = true
                    if !isFirstCell { defused.append("'") }
                }
                isAtStartOfCell = false
            case ";", ",", "|", "\t", "\r", "\n":
                if isFirstCell, isAtStartOfCell, scalar.value < 0x20 { isChanged = true }
                isAtStartOfCell = true
                isFirstCell = false
            default:
                if !showsNothing(scalar) { isAtStartOfCell = false }
            }
            defused.append(scalar)
        }
        return isChanged ? "'" + String(defused) : text
    }

    /// A quick look at the bytes first: hardly any text has anything to defuse.
    private static func mayRun(_ text: String) -> Bool {
        text.utf8.contains { byte in
            switch byte {
            case UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "@"), 0xEF,
                0x09, 0x0A, 0x0D:
                true
            default: false
            }
        }
    }

    private static func showsNothing(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\u{0}"..."\u{20}", "\"", "\u{AD}", "\u{200B}"..."\u{200F}",
            "\u{202A}"..."\u{202E}", "\u{2060}"..."\u{2069}", "\u{FEFF}":
            true
        default: scalar.properties.isWhitespace
        }
    }
}

/// Writes the CSV lines of records that are alike except for some columns.
///
/// The lines of a correction repeat some 500 bytes for each changed field; these are made once.
struct AlikeLines<Record>: Sendable {
    /// Neighbouring columns that the records share, or in which they differ.
    private typealias Piece = (isShared: Bool, columns: [Table<Record>.Column])

    private let pieces: [Piece]

    /// - Parameters:
    ///   - table: All columns.
    ///   - names: The columns in which the records differ.
    init(of table: Table<Record>, differingIn names: Set<String>) {
        var pieces: [Piece] = []
        for column in table.columns {
            let isShared = !names.contains(column.name)
            if let last = pieces.indices.last, pieces[last].isShared == isShared {
                pieces[last].columns.append(column)
            } else {
                pieces.append((isShared, [column]))
            }
        }
        self.pieces = pieces
    }

    /// Appends a line for each record.
    func append(_ records: [Record], to bytes: inout [UInt8]) {
        guard let first = records.first else { return }
        let shared = pieces.enumerated().map { index, piece in
            var text: [UInt8] = []
            if piece.isShared { Self.append(piece, at: index, of: first, to: &text) }
            return text
        }
        for record in records {
            for (index, piece) in pieces.enumerated() {
                if piece.isShared {
                    bytes += shared[index]
                } else {
                    Self.append(piece, at: index, of: record, to: &bytes)
                }
            }
            bytes.append(0x0D)
            bytes.append(0x0A)
        }
    }

    /// Appends the fields of a piece, each with the comma before it.
    private static func append(
        _ piece: Piece, at index: Int, of record: Record, to bytes: inout [UInt8]
    ) {
        for (place, column) in piece.columns.enumerated() {
            if index > 0 || place > 0 { bytes.append(UInt8(ascii: ",")) }
            column.cell(record).appendCSV(to: &bytes)
        }
    }
}

extension Table where Record == BusinessView.Line {
    /// The table of events that Apple's notifications report.
    static let business = Table([
        ("app", { .text($0.series.app.bundleID) }),
        ("environment", { .own($0.series.app.environment.rawValue) }),
        ("day", { .own($0.day.calendarDay) }),
        ("product_id", { Cell($0.series.productID) }),
        ("event", { .own($0.series.kind.rawValue) }),
        ("events", { Cell($0.events) }),
        ("day_read", { .own($0.reading.rawValue) }),
        ("week_before", { Cell($0.compared.weekBefore) }),
        ("weekdays_before", { Cell($0.compared.weekdays > 0 ? $0.compared.events : nil) }),
        ("weekdays_read", { Cell($0.compared.weekdays) }),
        ("falls_sharply", { Cell($0.falls.map { $0 ? 1 : 0 }) }),
    ])
}

extension Int64 {
    /// A day since 1970-01-01 as `yyyy-MM-dd`.
    var calendarDay: String {
        Timestamp(
            unixMilliseconds: multipliedReportingOverflow(by: Milliseconds.perDay).partialValue
        ).utcDay
    }

    /// The weekday of such a day.
    var weekday: String {
        // 1970-01-01 was a Thursday.
        let names = [
            "Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday",
        ]
        return names[Int(floorDivided(by: 7).remainder)]
    }
}
