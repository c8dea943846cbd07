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
