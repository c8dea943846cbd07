/// Writes the CSV lines of records that are alike but for some columns.
///
/// The lines of a correction repeat some 500 bytes for each changed field; these are made once.
struct AlikeLines<Record>: Sendable {
    /// Neighbouring columns that the records share, or in which they differ.
    private struct Piece: Sendable {
        let isShared: Bool
        var columns: [Table<Record>.Column]
    }

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
                pieces.append(Piece(isShared: isShared, columns: [column]))
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
