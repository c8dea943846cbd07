import Foundation

/// Adds up what a report prints: in text, page, JSON and workbook.
///
/// It knows nothing of how they are made.
struct ReportedTotals {
    /// `summary.json`.
    var json: [String: Any]
    /// `summary.txt`.
    var text: String
    /// `report.html`.
    var page: String
    /// The bytes of the workbook, whose parts are not compressed; `nil` where there is none.
    var workbook: String?

    /// What does not add up; empty where all does.
    var problems: [String] {
        var problems = jsonProblems + textProblems + pageProblems
        if workbook != nil { problems += workbookProblems }
        return problems
    }

    // MARK: JSON

    private func numbers(_ object: Any?) -> [String: Int] {
        (object as? [String: Any] ?? [:]).compactMapValues { value in
            value as? Int ?? (value as? [String: Int])?.values.reduce(0, +)
        }
    }

    private var coverage: [String: Any]? { json["coverage"] as? [String: Any] }

    private var jsonProblems: [String] {
        var problems: [String] = []
        func expect(_ condition: Bool, _ what: @autoclosure () -> String) {
            if !condition { problems.append("summary.json: " + what()) }
        }
        let totals = numbers(json["totals"])
        let parts = ["matched", "discrepant", "undecided", "excluded"].map { totals[$0] ?? 0 }
        let inScope = totals["in_scope"] ?? 0
        expect(inScope == parts.reduce(0, +), "in_scope \(totals)")
        guard let coverage else { return problems }
        let counts = numbers(coverage)
        let asked = counts["asked"] ?? 0
        let byReason = coverage["asked_by_reason"] as? [String: Int] ?? [:]
        let beside = counts["asked_beside"] ?? 0
        expect(asked == byReason.values.reduce(beside, +), "asked \(asked): \(byReason), \(beside)")
        let settled = counts["settled_by_notification"] ?? 0
        if let sample = coverage["sample"] as? [String: Any] {
            let drawn = sample["drawn"] as? Int ?? 0
            let judged = numbers(sample["judged_by"])
            let notJudged = sample["not_judged"] as? Int ?? 0
            expect(
                judged.values.reduce(notJudged, +) == drawn,
                "drawn \(drawn): \(judged), \(notJudged)")
            let own = byReason["sample"] ?? 0
            expect(own <= drawn, "\(own) asked by the sample of \(drawn) drawn")
            expect(
                (judged["own_question"] ?? 0) <= own, "own_question \(judged) of \(own) asked")
        }
        guard let table = coverage["table"] as? [String: Int] else {
            return problems + ["summary.json: no table"]
        }
        expect(table.values.allSatisfy { $0 >= 0 }, "negative: \(table)")
        let scope = [
            "asked", "settled_by_notification", "excluded", "not_reached", "without_question",
        ]
        .map { table[$0] ?? 0 }.reduce(0, +)
        expect(scope == inScope, "in_scope \(inScope): \(table)")
        expect(table["asked"] == asked, "asked \(asked): \(table)")
        expect(table["settled_by_notification"] == settled, "settled \(settled): \(table)")
        let rest = ["judged_before", "not_asked", "inserted"].map { table[$0] ?? 0 }.reduce(0, +)
        expect(
            table["rows"] == scope + rest - (table["gone"] ?? 0), "rows of the table: \(table)")
        if let rows = controlRows, (json["scope"] as? [Any])?.isEmpty ?? true {
            expect(table["rows"] == rows, "control totals have \(rows) rows: \(table)")
        }
        return problems
    }

    /// The rows that the control totals count at the end; `nil` where some belong to no app.
    private var controlRows: Int? {
        let excluded = (json["totals"] as? [String: Any])?["excluded_reasons"] as? [String: Int]
        guard excluded?["app_not_configured"] ?? 0 == 0,
            let apps = (json["control"] as? [String: Any])?["apps"] as? [[String: Any]]
        else { return nil }
        return apps.compactMap { ($0["after"] as? [String: Any])?["rows"] as? Int }.reduce(0, +)
    }

    // MARK: Text

    /// Each table with a rule: the numbers below it are the sums of those above.
    private var textProblems: [String] {
        var problems: [String] = []
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for (place, line) in lines.enumerated()
        where !line.isEmpty && line.allSatisfy({ $0 == "-" || $0 == " " }) && line.contains("---") {
            var start = place
            while start > 0, lines[start - 1].hasPrefix("  ") || lines[start - 1].isEmpty {
                start -= 1
                if lines[start].isEmpty { break }
            }
            guard place + 1 < lines.count else { continue }
            // Money has a sum for each currency, of the lines in this currency alone.
            let currency = lines[place + 1].firstMatch(of: #/total in ([A-Z]+)\b/#)?.1
            let above = lines[start..<place].filter { line in
                currency.map { line.contains("  \($0)  ") } ?? true
            }
            for column in Self.columns(of: line) {
                guard let sum = Self.number(in: lines[place + 1], column) else { continue }
                let parts = above.compactMap { Self.number(in: $0, column) }
                if parts.reduce(0, +) != sum {
                    problems.append(
                        "summary.txt: \(parts) are not \(sum): \(lines[max(0, start - 1)])")
                }
            }
        }
        return problems
    }

    private static func columns(of rule: String) -> [Range<Int>] {
        var columns: [Range<Int>] = []
        var start: Int?
        for (index, character) in (rule + " ").enumerated() {
            if character == "-" {
                start = start ?? index
            } else if let begin = start {
                columns.append(begin..<index)
                start = nil
            }
        }
        return columns
    }

    private static func number(in line: String, _ column: Range<Int>) -> Int? {
        let cell = line.dropFirst(column.lowerBound).prefix(column.count)
        return Int(cell.filter { $0 != " " && $0 != "," })
    }

    // MARK: Page

    /// Each table with a row of sums, but for the control totals, whose lines have signs of their own.
    private var pageProblems: [String] {
        var problems: [String] = []
        for table in Self.elements("table", in: page) {
            var sums: [Int: Int] = [:]
            for row in Self.elements("tr", in: table.content) {
                let texts = row.content.components(separatedBy: "<t").dropFirst()
                    .filter { $0.hasPrefix("d") || $0.hasPrefix("h") }
                    .map { Self.split("<t" + $0).content.components(separatedBy: "</t")[0] }
                let cells = texts.map { Int($0.filter { $0 != "," && $0 != " " }) }
                guard row.attributes.contains("sum"),
                    ["all", "in scope", "table"].contains(texts.first)
                else {
                    for (column, cell) in cells.enumerated() {
                        if let cell { sums[column, default: 0] += cell }
                    }
                    continue
                }
                for (column, cell) in cells.enumerated() {
                    if let cell, cell != sums[column, default: 0] {
                        problems.append(
                            "report.html: \(sums[column] ?? 0) is not \(cell): "
                                + texts.joined(separator: " "))
                    }
                }
                break
            }
        }
        return problems
    }

    /// The elements of a name, none of which is in another of that name.
    ///
    /// Without regular expressions: every run of every test comes by here.
    private static func elements(
        _ name: String, in markup: String
    ) -> [(attributes: String, content: String)] {
        markup.components(separatedBy: "<\(name)").dropFirst().map { rest in
            split(rest.components(separatedBy: "</\(name)>")[0])
        }
    }

    /// What is before the end of an opening tag, and what is after it.
    private static func split(_ text: String) -> (attributes: String, content: String) {
        guard let end = text.range(of: ">") else { return (text, "") }
        return (String(text[..<end.lowerBound]), String(text[end.upperBound...]))
    }

    // MARK: Workbook

    /// The rows of the control totals' sheet, against those of `summary.json`.
    private var workbookProblems: [String] {
        guard let workbook,
            let apps = (json["control"] as? [String: Any])?["apps"] as? [[String: Any]],
            let sheet = workbook.firstMatch(
                of: /<row r="1">.{0,400}status_or_currency.*?<\/sheetData>/.dotMatchesNewlines())
        else { return [] }
        var counted: [String: Int] = [:]
        for row in sheet.0.matches(of: /<row r="\d+">(.*?)<\/row>/.dotMatchesNewlines()) {
            let cells = row.1.matches(of: /<c [^>]*>(.*?)<\/c>/.dotMatchesNewlines())
                .map { String($0.1.replacing(/<[^>]*>/, with: "")) }
            guard cells.count >= 6, cells[3] == "rows", let number = Int(cells[5]) else { continue }
            counted[cells[2], default: 0] += number
        }
        return ["before", "after"].compactMap { name in
            let rows = apps.compactMap { ($0[name] as? [String: Any])?["rows"] as? Int }
                .reduce(0, +)
            return counted[name] == rows
                ? nil : "workbook: \(counted[name] ?? -1) rows \(name), not \(rows)"
        }
    }
}
