import Subscriptions

/// The exit statuses as they stand at the end of every help text, from the one table.
package enum ExitStatusHelp {
    package static var text: String {
        let sorted = ExitStatus.allCases.sorted { $0.code < $1.code }
        let nameWidth = sorted.map(\.name.count).max() ?? 0
        let lines = sorted.map { status in
            "  " + padded(String(status.code), to: 5) + padded(status.name, to: nameWidth + 2)
                + status.meaning
        }
        return "EXIT STATUS:\n" + lines.joined(separator: "\n")
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
