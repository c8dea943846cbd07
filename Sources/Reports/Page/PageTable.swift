import Subscriptions

/// Tables of the page.
extension Markup {
    /// A column: its heading, and how its cells are set.
    struct Column {
        /// Numbers stand at the right, dates and times on one line.
        enum Form { case text, number, date }

        let heading: String
        let form: Form

        init(_ heading: String, _ form: Form = .text) {
            self.heading = heading
            self.form = form
        }

        var attributes: [Attribute] {
            switch form {
            case .text: []
            case .number: [.named("n")]
            case .date: [.named("d")]
            }
        }
    }

    /// A table whose rows the closure adds with `row`; the caption is always there, for those who cannot
    /// see where a table stands.
    mutating func table(
        _ caption: String, _ columns: [Column], named name: String? = nil,
        _ rows: (inout Markup) -> Void
    ) {
        // What scrolls must be reachable by keyboard; a landmark for each table would hide the others.
        element(
            "div",
            [
                .named("wide"), Attribute("role", "group"), Attribute("tabindex", "0"),
                Attribute("aria-label", caption),
            ]
        ) { page in
            page.element("table", name.map { [.named($0)] } ?? []) { table in
                table.element("caption", caption)
                table.element("thead") { head in
                    head.element("tr") { row in
                        for column in columns {
                            row.element(
                                "th", [.init("scope", "col")] + column.attributes, column.heading)
                        }
                    }
                }
                table.lineFeed()
                table.element("tbody", [], rows)
            }
        }
        lineFeed()
    }

    /// A row of texts whose first cell is its heading.
    mutating func row(_ cells: [String], _ columns: [Column], named name: String? = nil) {
        element("tr", name.map { [.named($0)] } ?? []) { row in
            for (index, cell) in cells.enumerated() {
                let attributes = index < columns.count ? columns[index].attributes : []
                if index == 0 {
                    row.element("th", [Attribute("scope", "row")] + attributes, cell)
                } else {
                    row.element("td", attributes, cell)
                }
            }
        }
        lineFeed()
    }

    /// A text that is never broken, so that it can be read, searched and copied: an id, a name of ours.
    mutating func kept(_ text: String) { element("span", [.named("keep")], text) }

    /// A section of the summary as a table, with the words of `summary.txt`.
    ///
    /// `first` is the heading of the first column, `last` that of a column without one.
    mutating func table(
        _ section: Section, _ caption: String, first: String, last: String = "meaning"
    ) {
        if !section.rows.isEmpty {
            let columns = ([first] + section.headings).enumerated().map { index, heading in
                Column(
                    heading.isEmpty ? last : heading,
                    section.numbers.contains(index) ? .number : .text)
            }
            table(caption, columns) { table in
                for row in section.rows {
                    table.row(row.cells, columns, named: row.isSum ? "sum" : nil)
                }
            }
        }
        list(section.sentences)
    }

    /// Sentences as a list; nothing where there are none.
    mutating func list(_ sentences: [String]) {
        guard !sentences.isEmpty else { return }
        element("ul") { list in
            for sentence in sentences { list.element("li", sentence) }
        }
        lineFeed()
    }

    /// A heading that the list of contents leads to.
    mutating func heading(_ section: PageSection) {
        element("h2", [Attribute("id", section.rawValue)], section.title)
        lineFeed()
    }
}

/// The parts of the page in their order.
enum PageSection: String, CaseIterable {
    case control
    case coverage, findings, causes, money, open, examples, corrections, absent, undecided
    case decisions, calls, business, nights, calendar, next, check, sign

    var title: String {
        switch self {
        case .control: "Control totals"
        case .coverage: "What was asked, and what was not"
        case .findings: "What differs"
        case .causes: "Why"
        case .money: "Money"
        case .open: "Open findings, worst first"
        case .examples: "Before and after: examples"
        case .corrections: "Corrections"
        case .absent: "Ids that Apple does not find"
        case .undecided: "Not judged"
        case .decisions: "Guards, acknowledgements, messages"
        case .calls: "Calls and evidence"
        case .business: "Business, from what Apple signed"
        case .nights: "The nights before"
        case .calendar: "Calendar"
        case .next: "What to do next"
        case .check: "Check it by hand"
        case .sign: "Signatures"
        }
    }
}
