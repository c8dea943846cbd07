import Foundation

/// A page of this repository's documentation, read for what a test can hold against the code.
///
/// Blocks of code count for nothing: neither their lines are table rows nor their brackets links.
package struct MarkdownPage: Sendable {
    /// From the root of the repository.
    package let path: String
    private let lines: [Substring]

    /// A table, and the heading that it stands under.
    package struct Table: Sendable {
        package let heading: String
        package let head: [String]
        package let rows: [[String]]

        /// The cells of one column, by its name in the head; none where it has no such column.
        package func column(_ name: String) -> [String] {
            guard let index = head.firstIndex(of: name) else { return [] }
            return rows.compactMap { $0.indices.contains(index) ? $0[index] : nil }
        }
    }

    package init(_ path: String) throws {
        self.path = path
        let text = try String(contentsOfFile: Self.root + "/" + path, encoding: .utf8)
        var isCode = false
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
            if line.hasPrefix("```") { isCode.toggle() }
            return !isCode
        }
    }

    /// The repository: …/Tests/TestSupport/Documents/MarkdownPage.swift is below it.
    package static let root =
        "\(#filePath)".split(separator: "/", omittingEmptySubsequences: false)
        .dropLast(4).joined(separator: "/")

    /// The pages of the root and of `docs`.
    package static var all: [MarkdownPage] {
        get throws {
            try ["", "docs/"].flatMap { folder in
                try FileManager.default.contentsOfDirectory(atPath: root + "/" + folder).sorted()
                    .filter { $0.hasSuffix(".md") }.map { try MarkdownPage(folder + $0) }
            }
        }
    }

    package var headings: [String] {
        lines.filter { $0.hasPrefix("#") }.map { line in
            String(line.drop { $0 == "#" }.drop { $0 == " " })
        }
    }

    package var tables: [Table] {
        var tables: [Table] = []
        var heading = ""
        var rows: [[String]] = []
        for line in lines + [""] {
            if line.hasPrefix("|") {
                rows.append(Self.cells(of: line))
                continue
            }
            if let head = rows.first, rows.count > 1 {
                tables.append(Table(heading: heading, head: head, rows: Array(rows.dropFirst(2))))
            }
            rows = []
            if line.hasPrefix("#") {
                heading = String(line.drop { $0 == "#" }.drop { $0 == " " })
            }
        }
        return tables
    }

    /// The first table whose head begins with these columns.
    package func table(headed columns: String...) -> Table? {
        tables.first { $0.head.starts(with: columns) }
    }

    /// The text under a heading, up to the next one.
    package func section(_ heading: String) -> String {
        let isHeading = { (line: Substring) in
            line.hasPrefix("#") && line.drop { $0 == "#" }.drop { $0 == " " } == heading
        }
        guard let start = lines.firstIndex(where: isHeading) else { return "" }
        return lines[(start + 1)...].prefix { !$0.hasPrefix("#") }.joined(separator: "\n")
    }

    /// The targets of links to other files and headings of this repository.
    package var localLinks: [String] {
        lines.flatMap { line in
            line.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
        }.filter { !$0.contains("://") && !$0.hasPrefix("mailto:") }
    }

    /// What a link may name behind `#`: each heading in small letters, blanks as dashes.
    package var anchors: Set<String> {
        Set(
            headings.map { heading in
                String(
                    heading.lowercased().compactMap { character -> Character? in
                        if character == " " { return "-" }
                        let isKept = character.isLetter || character.isNumber
                        return isKept || "-_".contains(character) ? character : nil
                    })
            })
    }

    private static func cells(of line: Substring) -> [String] {
        line.dropFirst().split(separator: "|", omittingEmptySubsequences: false).dropLast()
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }
}

extension String {
    /// The words of a text that stand between backticks, in order.
    package var quotedInBackticks: [String] {
        split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
    }
}
