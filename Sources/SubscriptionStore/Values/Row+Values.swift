import GRDB
import Subscriptions

/// Reading that never traps, whatever somebody wrote into a column.
extension Row {
    /// Text as stored; numbers are spelled out, bytes that are no text are shown by `ShownBytes`.
    ///
    /// GRDB's own conversion ends the process over a BLOB that is no UTF-8, and repairs a TEXT that
    /// is none. What a TEXT was before the repair is only seen while the row is at the cursor, not
    /// in a copy of it; rows of the company's tables are read there.
    func text(at index: Int) -> String? { text(of: stored(at: index), at: index) }

    private func text(of stored: StoredValue, at index: Int) -> String? {
        switch stored.value.storage {
        case .null: return nil
        case .int64(let number): return String(number)
        case .double(let number): return String(number)
        case .blob(let bytes): return ShownBytes.text(ofBlob: bytes)
        case .string(let text):
            // U+FFFD stands for what was repaired; its first byte is rare enough to look closer.
            guard !stored.isPlainText, text.utf8.contains(0xEF) else { return text }
            let shown = try? withUnsafeData(atIndex: index) { bytes in
                bytes.map { ShownBytes.text(ofText: $0) }
            }
            return shown.flatMap(\.self) ?? text
        }
    }

    /// The same, and a text that holds a NUL in hexadecimal, too: SQLite's own reading ends there.
    func wholeText(at index: Int) -> String? {
        let value = stored(at: index)
        let text = text(of: value, at: index)
        guard !value.isPlainText, let text, case .string(let stored) = value.value.storage,
            stored == text
        else { return text }
        let shown = try? withUnsafeData(atIndex: index) { bytes in
            bytes.flatMap { $0.count == text.utf8.count ? nil : ShownBytes.text(ofText: $0) }
        }
        return shown.flatMap(\.self) ?? text
    }

    /// Text of a column that is never null.
    func requiredText(at index: Int) -> String { text(at: index) ?? "" }

    /// A whole number; `nil` for anything else that stands there.
    func integer(at index: Int) -> Int64? {
        switch stored(at: index).value.storage {
        case .int64(let number): number
        case .double(let number): Int64(exactly: number)
        default: nil
        }
    }

    /// A whole number that fits into `Int`.
    func number(at index: Int) -> Int? { integer(at: index).flatMap(Int.init(exactly:)) }

    /// UNIX milliseconds.
    func time(at index: Int) -> Timestamp? {
        integer(at: index).map(Timestamp.init(unixMilliseconds:))
    }
}

extension SubscriptionKey {
    /// The key in the order of the primary key, to bind.
    var arguments: StatementArguments { [bundleID, environment, originalTransactionID] }

    /// Reads three columns in the order of the primary key.
    init(_ row: Row, at index: Int) {
        self.init(
            bundleID: row.requiredText(at: index), environment: row.requiredText(at: index + 1),
            originalTransactionID: row.requiredText(at: index + 2))
    }
}
