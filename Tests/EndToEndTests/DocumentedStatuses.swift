import TestSupport
import Testing

/// The exit statuses that `docs/exit-statuses.md` gives each command: every command that a test runs is
/// held against them.
enum DocumentedStatuses {
    private static let byCommand: [String: Set<Int32>] = {
        let page = try? MarkdownPage("docs/exit-statuses.md")
        let rows = page?.table(headed: "command", "exit statuses")?.rows ?? []
        let pairs = rows.map { row in
            (
                row[0].filter { $0 != "`" },
                Set(row[1].split(separator: ", ").compactMap { Int32($0) })
            )
        }
        return Dictionary(pairs) { $1 }
    }()

    static func expect(_ status: Int32, after arguments: [String]) {
        // A test that kills the program sees the signal's number.
        guard let name = arguments.first, let documented = byCommand[name], status >= 0 else {
            return
        }
        #expect(
            documented.contains(status) || status > 128,
            "trueup \(name) ended with \(status), which the page does not name")
    }
}
