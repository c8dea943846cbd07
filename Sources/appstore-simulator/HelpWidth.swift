import Foundation

/// How wide help is laid out.
///
/// The parser ends the process where a column of its help has no room. It takes the width that `COLUMNS` says,
/// or else the terminal's.
enum HelpWidth {
    /// The narrowest help that the parser lays out.
    private static let leastColumns = 40

    /// Has the parser lay out no narrower help than it can.
    static func ensure() {
        let wished = ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) }
        guard let columns = wished ?? terminalColumns, columns < leastColumns else { return }
        unsafe setenv("COLUMNS", String(leastColumns), 1)
    }

    private static var terminalColumns: Int? {
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return nil
        }
        return Int(size.ws_col)
    }
}
