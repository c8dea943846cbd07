import Subscriptions

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
        case .text(let text), .own(let text):
            guard text.needsNoEscape else {
                bytes.append(contentsOf: CanonicalJSON.string(text).rendered.utf8)
                return
            }
            bytes.append(UInt8(ascii: "\""))
            bytes.append(contentsOf: text.utf8)
            bytes.append(UInt8(ascii: "\""))
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

extension String {
    /// Whether JSON writes the text as it is: printable ASCII without quote and backslash.
    ///
    /// Nearly all of a report is such text; `CanonicalJSON` spells the rest.
    fileprivate var needsNoEscape: Bool {
        utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }
    }
}
