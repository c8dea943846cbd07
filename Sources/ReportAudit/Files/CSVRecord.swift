import JSONWebSignature

/// One record of a CSV file: its bytes, and where its fields end.
///
/// A report has some sixteen such lines for a correction, which repeat each other but for three
/// fields, so a field becomes a text only where somebody asks for it.
struct CSVRecord {
    private static let quote = UInt8(ascii: "\"")

    /// The columns of the file; a name counts where it stands first.
    private let columns: [String]
    private let bytes: [UInt8]
    /// For each field one past its last byte, which is its comma's place.
    private let ends: [Int]
    /// Whether each of its quotes has another one.
    let isClosed: Bool

    /// - Parameters:
    ///   - bytes: The record without its line end.
    ///   - columns: The columns of the file.
    init(_ bytes: [UInt8], columns: [String]) {
        self.bytes = bytes
        self.columns = columns
        var ends: [Int] = []
        ends.reserveCapacity(max(columns.count, 1))
        var isQuoted = false
        let span = bytes.span
        for index in span.indices {
            switch span[index] {
            case Self.quote: isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted: ends.append(index)
            default: break
            }
        }
        ends.append(span.count)
        self.ends = ends
        isClosed = !isQuoted
    }

    /// How many fields it has.
    var count: Int { ends.count }

    /// The fields in their order.
    var fields: [String] { ends.indices.map(field) }

    /// The fields by column.
    var byColumn: [String: String] {
        Dictionary(zip(columns, fields)) { first, _ in first }
    }

    /// The field of a column; `nil` where there is no such column.
    subscript(column: String) -> String? { columns.firstIndex(of: column).map(field) }

    /// Whether fields that follow each other are written with the same bytes as in another record
    /// of the file.
    func repeats(_ fields: Range<Int>, of other: CSVRecord) -> Bool {
        raw(fields).hasSameBytes(as: other.raw(fields))
    }

    /// Whether a field has a JSON value; see `CSVField`.
    func agrees(_ index: Int, with value: JSONValue?) -> Bool {
        guard let value, !value.isNull else { return raw(index).isEmpty }
        // Most texts stand here as they stand there; the others are taken apart.
        if let text = value.textBytes, raw(index).hasSameBytes(as: text),
            !text.contains(where: { $0 == Self.quote || $0 == 0 })
        {
            return true
        }
        return CSVField.agrees(field(index), with: value)
    }

    /// The first column whose field has not the value of the member with its name; a column without one
    /// is of a later version.
    func firstColumn(
        unlike record: JSONRecord, among isWanted: (String) -> Bool = { _ in true }
    ) -> String? {
        columns.enumerated().first { place, column in
            guard isWanted(column), let value = record[column] else { return false }
            return !agrees(place, with: value)
        }?.element
    }

    /// The field without its quotes.
    func field(_ index: Int) -> String {
        let raw = raw(index)
        guard raw.contains(Self.quote) else { return String(decoding: raw, as: UTF8.self) }
        var field: [UInt8] = []
        var isQuoted = false
        var index = raw.startIndex
        while index < raw.endIndex {
            let byte = raw[index]
            let next = index + 1
            if byte != Self.quote {
                field.append(byte)
            } else if isQuoted, next < raw.endIndex, raw[next] == Self.quote {
                field.append(byte)
                index += 1
            } else {
                isQuoted.toggle()
            }
            index += 1
        }
        return String(decoding: field, as: UTF8.self)
    }

    private func raw(_ index: Int) -> ArraySlice<UInt8> { raw(index..<index + 1) }

    /// The fields with the commas between them; there is at least one.
    private func raw(_ fields: Range<Int>) -> ArraySlice<UInt8> {
        let first = fields.lowerBound
        return bytes[(first == 0 ? 0 : ends[first - 1] + 1)..<ends[fields.upperBound - 1]]
    }
}
