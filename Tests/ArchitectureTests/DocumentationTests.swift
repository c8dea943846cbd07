import Subscriptions
import Testing

/// The tables of the documentation name exactly what the code has.
@Suite struct `Documentation` {
    @Test func `explains every kind of finding, once`() throws {
        let rows = try Self.rows(of: "docs/findings.md", columns: 5)
        #expect(
            rows.map { $0[0] }.sorted() == FindingKind.allCases.map { "`\($0.rawValue)`" }.sorted())
        for row in rows { #expect(row.allSatisfy { !$0.isEmpty }, "\(row)") }
    }

    @Test func `explains every exit status, once`() throws {
        let rows = try Self.rows(of: "docs/exit-statuses.md", columns: 4)
        let statuses = ExitStatus.allCases.sorted { $0.code < $1.code }
        #expect(rows.map { $0[0] } == statuses.map { "\($0.code)" })
        #expect(rows.map { $0[1] } == statuses.map(\.name))
        for row in rows { #expect(row.allSatisfy { !$0.isEmpty }, "\(row)") }
    }

    /// The cells of every table row with this many columns, heads and rules left out.
    private static func rows(of path: String, columns: Int) throws -> [[String]] {
        let lines = try Repository.text(of: path).split(separator: "\n")
        let tables = lines.filter { $0.hasPrefix("|") }.map { line in
            line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false)
                .map { cell in String(cell.trimmingPrefix(" ")).trimmingSuffix() }
        }
        return tables.enumerated().filter { index, cells in
            cells.count == columns && !isRule(cells)
                && !(index + 1 < tables.count && isRule(tables[index + 1]))
        }.map(\.element)
    }

    private static func isRule(_ cells: [String]) -> Bool {
        cells.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0 == "-" } }
    }
}

extension String {
    /// Without spaces at the end.
    fileprivate func trimmingSuffix() -> String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
