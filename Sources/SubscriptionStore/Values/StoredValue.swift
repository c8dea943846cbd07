import GRDB
import GRDBSQLite

/// The value of a column, and whether a text is as plain as nearly all are.
///
/// GRDB reads a type that can be made from a statement right from there; for any other, its own values
/// included, it looks up the type anew for each column of each row.
struct StoredValue: DatabaseValueConvertible, StatementColumnConvertible {
    let value: DatabaseValue
    /// Whether it is a text of ASCII characters without NUL, which reads as it is stored.
    ///
    /// `false` also where the row is a copy, of which only the value is left.
    let isPlainText: Bool

    init(sqliteStatement: SQLiteStatement, index: CInt) {
        value = unsafe DatabaseValue(sqliteStatement: sqliteStatement, index: index)
        guard case .string = value.storage else {
            isPlainText = false
            return
        }
        let text = unsafe sqlite3_column_text(sqliteStatement, index)
        let count = unsafe sqlite3_column_bytes(sqliteStatement, index)
        let bytes = unsafe UnsafeBufferPointer(start: text, count: text == nil ? 0 : Int(count))
        isPlainText = unsafe bytes.span.isPlain
    }

    fileprivate init(copied value: DatabaseValue) {
        self.value = value
        isPlainText = false
    }

    var databaseValue: DatabaseValue { value }

    static func fromDatabaseValue(_ value: DatabaseValue) -> StoredValue? {
        StoredValue(copied: value)
    }
}

extension Row {
    /// What stands in a column, null included.
    func stored(at index: Int) -> StoredValue {
        let value: StoredValue? = self[index]
        return value ?? StoredValue(copied: .null)
    }
}
