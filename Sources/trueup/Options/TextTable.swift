/// Columns of text for a person's eyes.
enum TextTable {
    /// Rows with their cells padded to the widest of each column, indented by two.
    static func lines(_ rows: [[String]], rightAligned: Set<Int>) -> [String] {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                cell.padded(to: widths[column], atRight: rightAligned.contains(column))
            }
            let line = "  " + cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}

extension String {
    /// With blanks up to a width; a longer text stays whole.
    func padded(to width: Int, atRight: Bool = false) -> String {
        let blanks = String(repeating: " ", count: max(0, width - count))
        return atRight ? blanks + self : self + blanks
    }
}
