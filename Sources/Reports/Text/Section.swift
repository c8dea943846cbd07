/// A part of the summary: a heading with aligned columns, or with lines of text.
struct Section {
    /// A line of a table.
    struct Row {
        var cells: [String]
        var ink: Ink
        /// Whether a rule is drawn above: the line below is the sum of those above.
        var isSum: Bool

        init(_ cells: [String], ink: Ink = .plain, isSum: Bool = false) {
            self.cells = cells
            self.ink = ink
            self.isSum = isSum
        }
    }

    var title: String
    /// Headings of the columns after the first, whose heading is the title.
    var headings: [String] = []
    /// Columns, from 0, whose cells are numbers and stand at the right.
    var numbers: Set<Int> = []
    var rows: [Row] = []
    /// Sentences, each with a dash in front.
    var sentences: [String] = []

    var isEmpty: Bool { rows.isEmpty && sentences.isEmpty }

    func lines(_ palette: Palette) -> [String] {
        var lines: [String] = []
        let cells = [[title] + headings] + rows.map { ["  " + $0.cells[0]] + $0.cells.dropFirst() }
        let widths = (0..<(headings.count + 1)).map { column in
            cells.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        lines.append(palette.paint(aligned(cells[0], widths), .heading))
        for (row, line) in zip(rows, cells.dropFirst()) {
            if row.isSum { lines.append(rule(widths)) }
            lines += layout(line, widths, palette.columns).map { palette.paint($0, row.ink) }
        }
        for sentence in sentences {
            lines += sentence.wrapped(to: palette.columns, firstMargin: "  - ", margin: "    ")
        }
        return lines
    }

    /// A line; a last column of text is wrapped below itself.
    private func layout(_ cells: [String], _ widths: [Int], _ columns: Int) -> [String] {
        guard let last = cells.last, cells.count == widths.count, cells.count > 1,
            !numbers.contains(cells.count - 1), !last.isEmpty
        else { return [aligned(cells, widths)] }
        let margin = widths.dropLast().reduce(0) { $0 + $1 + 2 }
        let first = aligned(Array(cells.dropLast()), widths).padded(to: margin)
        return last.wrapped(
            to: columns, firstMargin: first,
            margin: String(repeating: " ", count: margin))
    }

    private func aligned(_ cells: [String], _ widths: [Int]) -> String {
        var line = ""
        for (column, cell) in cells.enumerated() {
            if column > 0 { line += "  " }
            line += cell.padded(to: widths[column], atRight: numbers.contains(column))
        }
        return line.withoutTrailingBlanks
    }

    private func rule(_ widths: [Int]) -> String {
        let dashes = widths.enumerated().map { column, width in
            numbers.contains(column)
                ? String(repeating: "-", count: width) : String(repeating: " ", count: width)
        }
        return dashes.joined(separator: "  ").withoutTrailingBlanks
    }
}

/// The few colours of a summary, by what they mean.
enum Ink {
    case plain, heading, good, notable, alarming
}

/// How text is laid out for where it goes: with colours for a terminal or without, and how wide.
struct Palette {
    let isColoured: Bool
    /// The most columns that a line takes; a longer path or word stays whole.
    var columns = SummaryText.columns

    /// Colours a text that is padded already: the codes take no column.
    func paint(_ text: String, _ ink: Ink) -> String {
        guard isColoured, let code = ink.code else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}

extension Ink {
    fileprivate var code: String? {
        switch self {
        case .plain: nil
        case .heading: "1"
        case .good: "32"
        case .notable: "33"
        case .alarming: "1;31"
        }
    }
}
