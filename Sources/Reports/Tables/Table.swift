import Subscriptions

/// The columns of one kind of record, for both of its files.
///
/// JSON Lines and CSV are made from one list, so that they cannot differ. A JSON line has the bytes
/// of `CanonicalJSON`, without a dictionary to build and sort for each of millions of records.
struct Table<Record>: Sendable {
    /// A column: its name and how a record's value is found.
    struct Column: Sendable {
        let name: String
        let cell: @Sendable (Record) -> Cell
    }

    let columns: [Column]
    /// Columns in the order of their names' bytes, each with what stands before its value.
    private let members: [(opening: [UInt8], cell: @Sendable (Record) -> Cell)]

    init(_ columns: [(String, @Sendable (Record) -> Cell)]) {
        self.columns = columns.map { Column(name: $0.0, cell: $0.1) }
        let sorted = self.columns.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        self.members = sorted.enumerated().map { index, column in
            let opening = (index == 0 ? "{" : ",") + CanonicalJSON.string(column.name).rendered
            return (Array((opening + ":").utf8), column.cell)
        }
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

    init(_ value: String?) { self = value.map(Cell.text) ?? .null }
    init(_ value: Timestamp?) { self = value.map { .own($0.rfc3339) } ?? .null }
    init(_ value: Int64?) { self = value.map(Cell.integer) ?? .null }
    init(_ value: Int?) { self = value.map { .integer(Int64($0)) } ?? .null }
    init(_ value: EvidenceDigest?) { self = value.map { .own($0.hexadecimal) } ?? .null }

    init(_ value: FieldValue) {
        switch value {
        case .null: self = .null
        case .text(let text): self = .text(text)
        case .integer(let number): self = .integer(number)
        case .time(let time): self = .own(time.rfc3339)
        }
    }

    /// Appends the value as it stands in JSON Lines.
    func appendJSON(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .integer(let number): bytes.append(contentsOf: String(number).utf8)
        case .text(let text), .own(let text): CanonicalJSON.append(quoted: text, to: &bytes)
        }
    }

    /// Appends the value as a CSV field; nothing for null.
    func appendCSV(to bytes: inout [UInt8]) {
        switch self {
        case .null: break
        case .integer(let number): bytes.append(contentsOf: String(number).utf8)
        case .text(let text): CSVField.append(text, isForeign: true, to: &bytes)
        case .own(let text): CSVField.append(text, isForeign: false, to: &bytes)
        }
    }
}
