/// Why a file of rows cannot be used as a whole (exit 65); a single bad line is a `BadLine`.
package enum RowFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It could not be opened or read; the reason is the operating system's.
    case unreadable(file: String, reason: String)
    /// It holds nothing at all.
    case empty(file: String)
    /// It is no UTF-8 text (UTF-16, compressed).
    case notText(file: String, reason: String)
    /// The first line does not name usable columns.
    case header(file: String, line: Int, reason: String)

    package var description: String {
        switch self {
        case .unreadable(let file, let reason): "\(file): cannot be read: \(reason)"
        case .empty(let file):
            "\(file): is empty; a CSV file begins with a line that names its columns"
        case .notText(let file, let reason): "\(file): \(reason)"
        case .header(let file, let line, let reason): "\(file):\(line): \(reason)"
        }
    }
}
