import GRDB
import GRDBSQLite
import Subscriptions

/// Binds the values of a line to a statement, one after the other.
///
/// By SQLite's own functions: GRDB's lists of arguments took a quarter of loading a million lines.
struct LineBinding {
    /// Tells SQLite to copy a text before the call returns.
    private static var copied: sqlite3_destructor_type {
        unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }

    private let statement: Statement
    private var place: Int32 = 0

    /// - Parameter statement: Executed without arguments from now on.
    init(_ statement: Statement) {
        self.statement = statement
        statement.setUncheckedArguments(StatementArguments())
    }

    /// Begins with the first value of the next line; those of the last line stay until they are bound.
    mutating func restart() {
        // What it returns is the error of the last execution, which was thrown there.
        _ = unsafe sqlite3_reset(statement.sqliteStatement)
        place = 0
    }

    /// Binds the next value.
    mutating func bind(_ value: FieldValue) throws {
        switch value {
        case .null: try bind(nil)
        case .integer(let number): try bind(number)
        case .time(let time): try bind(time.unixMilliseconds)
        case .text(var text):
            place += 1
            try check(text.withUTF8 { bytes in unsafe bind(bytes, at: place) })
        }
    }

    /// Binds a number as the next value; `nil` is null.
    mutating func bind(_ number: Int64?) throws {
        place += 1
        guard let number else {
            return try check(unsafe sqlite3_bind_null(statement.sqliteStatement, place))
        }
        try check(unsafe sqlite3_bind_int64(statement.sqliteStatement, place, number))
    }

    private func bind(_ text: UnsafeBufferPointer<UInt8>, at place: Int32) -> Int32 {
        // A text without bytes may be nowhere; where SQLite is given nothing, it would be null.
        guard let start = text.baseAddress else {
            return unsafe sqlite3_bind_text(statement.sqliteStatement, place, "", 0, Self.copied)
        }
        return unsafe start.withMemoryRebound(to: CChar.self, capacity: text.count) {
            unsafe sqlite3_bind_text(
                statement.sqliteStatement, place, $0, Int32(clamping: text.count), Self.copied)
        }
    }

    private func check(_ code: Int32) throws {
        guard code == SQLITE_OK else {
            throw DatabaseError(resultCode: ResultCode(rawValue: code), sql: statement.sql)
        }
    }
}
