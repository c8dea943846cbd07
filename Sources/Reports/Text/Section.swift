package import Subscriptions

/// A part of the summary: a heading with aligned columns, or with lines of text.
struct Section {
    var title: String
    /// Headings of the columns after the first, whose heading is the title.
    var headings: [String] = []
    /// Columns, from 0, whose cells are numbers and are at the right.
    var numbers: Set<Int> = []
    /// Lines of the table, whose cells may hold foreign text.
    private(set) var rows: [(cells: [String], ink: Ink, isSum: Bool)] = []
    /// Sentences, each with a dash in front.
    var sentences: [String] = []

    var isEmpty: Bool { rows.isEmpty && sentences.isEmpty }

    /// Adds a line.
    ///
    /// - Parameters:
    ///   - cells: Of the columns in their order.
    ///   - ink: How it is coloured.
    ///   - isSum: Whether a rule is drawn above: the line below is the sum of those above.
    mutating func add(_ cells: [String], ink: Ink = .plain, isSum: Bool = false) {
        rows.append((cells, ink, isSum))
    }

    func lines(_ palette: Palette) -> [String] {
        var lines: [String] = []
        let cells =
            [[title] + headings]
            + rows.map { row in
                (["  " + row.cells[0]] + row.cells.dropFirst()).map(\.onOneLine)
            }
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

/// The summary for people: `summary.txt` and the terminal.
package enum SummaryText {
    /// The most columns that a line takes where no terminal is narrower.
    package static let columns = 100

    /// Renders the summary.
    ///
    /// The first line says what happened and the exit status; causes come before lines. Sections
    /// without content are left out, apart from the tie-out.
    /// `reportPath` is the run's folder, `nil` where there is none; `notice` says that another root
    /// than Apple's was trusted; `plan` is what a check would change. `isColoured` adds ANSI
    /// colours for a terminal; a file has none. `columns` is the width of a narrower terminal:
    /// lines are wrapped once, where they are made.
    package static func render(
        _ summary: RunSummary, reportPath: String?, notice: String? = nil,
        plan: PlanExcerpt? = nil, isColoured: Bool = false, columns: Int? = nil
    ) -> String {
        lines(
            summary, reportPath: reportPath, notice: notice, plan: plan, isColoured: isColoured,
            columns: columns
        ).map { $0 + "\n" }.joined()
    }

    /// The lines of `render`.
    package static func lines(
        _ summary: RunSummary, reportPath: String?, notice: String? = nil,
        plan: PlanExcerpt? = nil, isColoured: Bool = false, columns: Int? = nil
    ) -> [String] {
        let columns = min(columns ?? Self.columns, Self.columns)
        let palette = Palette(isColoured: isColoured, columns: columns)
        let headline = Headline(summary)
        var blocks = [
            headline.text.wrapped(to: columns).map { palette.paint($0, headline.ink) },
            Section.run(summary, notice: notice, columns: columns),
        ]
        let causes = CauseLines(summary).lines(palette)
        if !causes.isEmpty { blocks.append(causes) }
        if let proposal = plan?.block(palette), !proposal.isEmpty { blocks.append(proposal) }
        let sections: [Section] = [
            .tieOut(summary.totals), .undecided(summary), .purchases(summary),
            .coverage(summary), .remainingRisk(summary), .findings(summary), .unowned(summary),
            .corrections(summary), .money(summary.money), .business(summary), .calls(summary),
            .evidence(summary), .limits(summary), .liftedGuards(summary), .acknowledged(summary),
            .messages(summary), .next(summary),
        ]
        for section in sections where !section.isEmpty { blocks.append(section.lines(palette)) }
        if let reportPath { blocks.append(["Report   \(reportPath.onOneLine)"]) }
        return Array(blocks.joined(separator: [""]))
    }
}

extension Int {
    /// With thousands separators: `12,345`.
    var grouped: String {
        let digits = String(magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0 && (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return (self < 0 ? "-" : "") + text
    }

    /// The number with its noun: `1 row`, `12,345 rows`.
    func of(_ noun: String) -> String { grouped + " " + (self == 1 ? noun : noun + "s") }
}

extension Int64 {
    /// Milliunits as an amount with the currency's decimals: `1,234.56`, in yen `2,697`.
    func amount(in currency: String) -> String {
        let amount = DecimalAmount(milliunits: self, currency: currency)
        return amount.text(units: Int(amount.units).grouped)
    }
}

extension Timestamp {
    /// To the second, for people: `2026-11-20 03:17:04`.
    var readable: String {
        String(rfc3339.prefix { $0 != "." }.map { $0 == "T" ? " " : $0 })
    }

    /// The last day of what ends with a UTC day, otherwise the time of its end.
    var endInWords: String {
        self == startOfDay() ? startOfDay(addingDays: -1).utcDay : rfc3339
    }

    /// For example `2 h 3 min`, `2 min 36 s`, `0.8 s`.
    func duration(until end: Timestamp) -> String {
        let milliseconds = max(0, end.milliseconds(since: self))
        let seconds = Int(milliseconds / 1000)
        switch seconds {
        case ..<10: return "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
        case ..<60: return "\(seconds) s"
        case ..<3600: return "\(seconds / 60) min \(seconds % 60) s"
        default: return "\((seconds / 3600).grouped) h \(seconds / 60 % 60) min"
        }
    }
}

extension String {
    /// Safe on a terminal: control characters and marks that turn the direction become blanks.
    var onOneLine: String {
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            switch scalar {
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{200E}", "\u{200F}", "\u{2028}",
                "\u{2029}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}":
                text.append(" ")
            default: text.append(scalar)
            }
        }
        return String(text)
    }

    func padded(to width: Int, atRight: Bool = false) -> String {
        let blanks = String(repeating: " ", count: Swift.max(0, width - count))
        return atRight ? blanks + self : self + blanks
    }

    var withoutTrailingBlanks: String {
        var text = Substring(self)
        while text.last == " " { text.removeLast() }
        return String(text)
    }

    /// The words; what is between two grave accents is one word.
    private var unbreakableWords: [String] {
        var words: [String] = []
        var isInCommand = false
        for word in onOneLine.split(separator: " ") {
            if isInCommand, let last = words.popLast() {
                words.append(last + " " + word)
            } else {
                words.append(String(word))
            }
            if !word.filter({ $0 == "`" }).count.isMultiple(of: 2) { isInCommand.toggle() }
        }
        // An accent without its other one encloses nothing.
        return isInCommand ? onOneLine.split(separator: " ").map(String.init) : words
    }

    /// Lines of at most so many columns, broken between words; a command is never broken.
    func wrapped(to columns: Int, firstMargin: String = "", margin: String = "") -> [String] {
        var lines: [String] = []
        var line = firstMargin
        var isEmpty = true
        for word in unbreakableWords {
            if !isEmpty && line.count + 1 + word.count > columns {
                lines.append(line)
                line = margin
                isEmpty = true
            }
            line += isEmpty ? word : " " + word
            isEmpty = false
        }
        return lines + [line]
    }
}
