import Foundation
import GRDB
import GRDBSQLite

/// The columns of the row at which a statement stands, read where SQLite keeps them.
///
/// GRDB makes a value of each column, and of each text a string. Where every row of a large table is
/// read, that is most of the work. What is read here is what `Row` reads; where that takes more than a
/// look at the bytes, the answer is that it does.
struct ColumnsInPlace {
    enum Kind {
        case null, integer, text
        /// A floating-point number or bytes.
        case other
    }

    private let statement: Statement

    /// - Parameter statement: the one whose cursor is asked for the next row.
    init(of statement: Statement) { self.statement = statement }

    func kind(at index: Int) -> Kind {
        switch unsafe sqlite3_column_type(statement.sqliteStatement, Int32(index)) {
        case SQLITE_NULL: .null
        case SQLITE_INTEGER: .integer
        case SQLITE_TEXT: .text
        default: .other
        }
    }

    /// A whole number; `nil` for anything else that stands there.
    func integer(at index: Int) -> Int64? {
        switch unsafe sqlite3_column_type(statement.sqliteStatement, Int32(index)) {
        case SQLITE_INTEGER:
            unsafe sqlite3_column_int64(statement.sqliteStatement, Int32(index))
        case SQLITE_FLOAT:
            unsafe Int64(exactly: sqlite3_column_double(statement.sqliteStatement, Int32(index)))
        default: nil
        }
    }

    /// Lends the bytes of a column that holds text, until the statement goes on.
    func withText<Result>(at index: Int, _ body: (Span<UInt8>) -> Result) -> Result {
        let text = unsafe sqlite3_column_text(statement.sqliteStatement, Int32(index))
        let count = unsafe sqlite3_column_bytes(statement.sqliteStatement, Int32(index))
        let bytes = unsafe UnsafeBufferPointer(start: text, count: text == nil ? 0 : Int(count))
        return unsafe body(bytes.span)
    }

    /// Whether a column holds exactly this text.
    func holds(_ text: String, at index: Int) -> Bool {
        guard kind(at: index) == .text else { return false }
        return withText(at: index) { bytes in
            var utf8 = text.utf8.makeIterator()
            for position in bytes.indices where utf8.next() != bytes[position] { return false }
            return utf8.next() == nil
        }
    }

    /// A text that is nothing but ASCII without NUL, which is as it reads; `nil` for anything else.
    func plainText(at index: Int) -> String? {
        guard kind(at: index) == .text else { return nil }
        let text = unsafe sqlite3_column_text(statement.sqliteStatement, Int32(index))
        let count = unsafe sqlite3_column_bytes(statement.sqliteStatement, Int32(index))
        let bytes = unsafe UnsafeBufferPointer(start: text, count: text == nil ? 0 : Int(count))
        guard unsafe bytes.span.isPlain else { return nil }
        return unsafe String(decoding: bytes, as: UTF8.self)
    }

    /// The text of a column that is never null, as `Row` shows it.
    func shownText(at index: Int) -> String {
        if let text = plainText(at: index) { return text }
        switch kind(at: index) {
        case .null: return ""
        case .integer: return integer(at: index).map(String.init) ?? ""
        case .text:
            return withText(at: index) { bytes in
                ShownBytes.text(ofText: bytes.indices.map { bytes[$0] })
            }
        // SQLite's own spelling of a number; the bytes of a BLOB are its text.
        case .other:
            return withText(at: index) { bytes in
                ShownBytes.text(ofBlob: bytes.indices.map { bytes[$0] })
            }
        }
    }

    /// How a text compares with one of another statement's row: byte by byte, as SQLite compares.
    ///
    /// - Parameters:
    ///   - index: The column of this row.
    ///   - other: The other row.
    ///   - otherIndex: The column of that row.
    /// - Returns: Less than, equal to or greater than 0.
    func order(at index: Int, with other: ColumnsInPlace, at otherIndex: Int) -> Int {
        withText(at: index) { left in
            other.withText(at: otherIndex) { right in
                let shared = min(left.count, right.count)
                let difference = unsafe left.withUnsafeBytes { left in
                    unsafe right.withUnsafeBytes { right in
                        guard let left = left.baseAddress,
                            let right = right.baseAddress
                        else { return 0 }
                        return unsafe Int(memcmp(left, right, shared))
                    }
                }
                return difference == 0 ? left.count - right.count : difference
            }
        }
    }
}

extension Span<UInt8> {
    /// Whether these are ASCII characters without NUL.
    var isPlain: Bool {
        var highest: UInt8 = 0
        var holdsNUL = false
        for index in indices {
            highest |= self[index]
            holdsNUL = holdsNUL || self[index] == 0
        }
        return highest < 0x80 && !holdsNUL
    }
}
