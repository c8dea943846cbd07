import Foundation
import GRDB
import GRDBSQLite
import Subscriptions

/// Statements in the forms in which they are used most.
extension Database {
    /// Executes a statement that is prepared once for this connection.
    func executeCached(_ sql: String, _ arguments: StatementArguments = []) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }

    /// The first row of a query.
    func row(_ sql: String, _ arguments: StatementArguments = []) throws -> Row? {
        try Row.fetchOne(self, sql: sql, arguments: arguments)
    }

    /// The first row of a query that is prepared once for this connection.
    func row(cached sql: String, _ arguments: StatementArguments = []) throws -> Row? {
        try Row.fetchOne(cachedStatement(sql: sql), arguments: arguments)
    }

    /// Copies of all rows of a query.
    func rows(_ sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
        try Row.fetchAll(self, sql: sql, arguments: arguments)
    }

    /// Copies of all rows of a query that is prepared once for this connection.
    func rows(cached sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
        try Row.fetchAll(cachedStatement(sql: sql), arguments: arguments)
    }

    /// The whole number that a query returns; `nil` for NULL and where it returns none.
    func integer(_ sql: String, _ arguments: StatementArguments = []) throws -> Int64? {
        try Int64.fetchOne(self, sql: sql, arguments: arguments)
    }

    /// The whole number that a query returns, prepared once for this connection.
    func integer(cached sql: String, _ arguments: StatementArguments = []) throws -> Int64? {
        try Int64.fetchOne(cachedStatement(sql: sql), arguments: arguments)
    }

    /// The whole numbers that a query returns.
    func integers(_ sql: String, _ arguments: StatementArguments = []) throws -> [Int64] {
        try Int64.fetchAll(self, sql: sql, arguments: arguments)
    }

    /// The text that a query returns; `nil` for NULL and where it returns none.
    func text(_ sql: String, _ arguments: StatementArguments = []) throws -> String? {
        try String.fetchOne(self, sql: sql, arguments: arguments)
    }

    /// The text that a query returns, prepared once for this connection.
    func text(cached sql: String, _ arguments: StatementArguments = []) throws -> String? {
        try String.fetchOne(cachedStatement(sql: sql), arguments: arguments)
    }

    /// The texts that a query returns.
    func texts(_ sql: String, _ arguments: StatementArguments = []) throws -> [String] {
        try String.fetchAll(self, sql: sql, arguments: arguments)
    }

    /// The texts that a query returns, prepared once for this connection.
    func texts(cached sql: String, _ arguments: StatementArguments = []) throws -> [String] {
        try String.fetchAll(cachedStatement(sql: sql), arguments: arguments)
    }

    /// Hands over the rows of a query, each while it is at the cursor.
    func forEachRow(
        _ sql: String, _ arguments: StatementArguments = [], _ body: (Row) throws -> Void
    ) throws {
        let rows = try Row.fetchCursor(self, sql: sql, arguments: arguments)
        while let row = try rows.next() { try body(row) }
    }

    /// Hands over the rows of a query that is prepared once for this connection; `body` must not use
    /// the same query.
    func forEachRow(
        cached sql: String, _ arguments: StatementArguments = [], _ body: (Row) throws -> Void
    ) throws {
        let rows = try Row.fetchCursor(cachedStatement(sql: sql), arguments: arguments)
        while let row = try rows.next() { try body(row) }
    }

    /// The number that a query returns; 0 where it returns none.
    func count(_ sql: String, _ arguments: StatementArguments = []) throws -> Int {
        try Int.fetchOne(self, sql: sql, arguments: arguments) ?? 0
    }

    /// Whether there are such rows, named as after `FROM`.
    func holds(
        _ rows: String, _ arguments: StatementArguments = StatementArguments()
    ) throws -> Bool {
        try Bool.fetchOne(
            cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM \(rows))"), arguments: arguments)
            ?? false
    }
}

extension Array {
    /// Pieces of at most so many elements, in order.
    func chunked(by size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: Swift.max(1, size)).map {
            self[$0..<Swift.min(count, $0 + Swift.max(1, size))]
        }
    }
}

extension [AppIdentity] {
    /// SQL: a mark for each app as a row of values, to go with `arguments`.
    var marks: String { map { _ in "(?, ?)" }.joined(separator: ", ") }

    var arguments: StatementArguments {
        StatementArguments(flatMap { [$0.bundleID, $0.environment.rawValue] })
    }
}

/// Reading that never traps, whatever a column holds.
extension Row {
    /// Text as stored; numbers are spelled out, bytes that are not text are shown by `ShownBytes`.
    ///
    /// GRDB's own conversion ends the process over a BLOB that is not UTF-8, and repairs a TEXT
    /// that is none. What a TEXT was before the repair is only seen while the row is at the cursor,
    /// not in a copy of it; rows of the company's tables are read there.
    func text(at index: Int) -> String? { text(of: stored(at: index), at: index) }

    private func text(of stored: StoredValue, at index: Int) -> String? {
        switch stored.value.storage {
        case .null: return nil
        case .int64(let number): return String(number)
        case .double(let number): return String(number)
        case .blob(let bytes): return ShownBytes.text(ofBlob: bytes)
        case .string(let text):
            // U+FFFD replaces what was repaired; its first byte is rare enough to look closer.
            guard !stored.isPlainText, text.utf8.contains(0xEF) else { return text }
            let shown = try? withUnsafeData(atIndex: index) { bytes in
                bytes.map { ShownBytes.text(ofText: $0) }
            }
            return shown.flatMap(\.self) ?? text
        }
    }

    /// Text as `text(at:)` reads it; one that holds a NUL in hexadecimal, because SQLite's reading
    /// ends there.
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

    /// A whole number; `nil` for anything else that is there.
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

    /// A time of a column that is never null.
    func requiredTime(at index: Int) -> Timestamp {
        time(at: index) ?? Timestamp(unixMilliseconds: 0)
    }
}

/// The columns of a row, read one after the other in the order in which the `SELECT` names them.
struct RowColumns {
    private let row: Row
    private var index: Int

    /// - Parameters:
    ///   - row: The row; one of a cursor is read before the cursor moves on.
    ///   - index: The first column to read.
    init(_ row: Row, at index: Int = 0) {
        self.row = row
        self.index = index
    }

    private mutating func next() -> Int {
        defer { index += 1 }
        return index
    }

    mutating func text() -> String? { row.text(at: next()) }

    mutating func requiredText() -> String { row.requiredText(at: next()) }

    mutating func integer() -> Int64? { row.integer(at: next()) }

    mutating func number() -> Int? { row.number(at: next()) }

    mutating func time() -> Timestamp? { row.time(at: next()) }

    /// Whether the column holds 1.
    mutating func flag() -> Bool { integer() == 1 }

    /// A time of a column that is never null.
    mutating func requiredTime() -> Timestamp { row.requiredTime(at: next()) }

    mutating func digest() -> EvidenceDigest? { text().map(EvidenceDigest.init(hexadecimal:)) }

    mutating func requiredDigest() -> EvidenceDigest {
        EvidenceDigest(hexadecimal: requiredText())
    }

    mutating func list() -> [String] { TextList.decode(requiredText()) }

    /// Three columns in the order of the primary key.
    mutating func key() -> SubscriptionKey {
        SubscriptionKey(
            bundleID: requiredText(), environment: requiredText(),
            originalTransactionID: requiredText())
    }
}

extension SubscriptionKey {
    /// The key in the order of the primary key, to bind.
    var arguments: StatementArguments { [bundleID, environment, originalTransactionID] }

    /// SQL: the condition that finds the row of a key, to go with `arguments`.
    static let isKey = "bundle_id = ? AND environment = ? AND original_transaction_id = ?"

    /// Returns the key of a transaction in the subscription's app.
    func transaction(_ id: String) -> TransactionKey {
        TransactionKey(bundleID: bundleID, environment: environment, transactionID: id)
    }

    /// SQL: the condition that rows of two tables, by their names in a query, have the same key.
    static func agree(_ left: String, _ right: String) -> String {
        ["bundle_id", "environment", "original_transaction_id"]
            .map { "\(left).\($0) = \(right).\($0)" }.joined(separator: " AND ")
    }

    /// Reads three columns in the order of the primary key.
    init(_ row: Row, at index: Int) {
        self.init(
            bundleID: row.requiredText(at: index), environment: row.requiredText(at: index + 1),
            originalTransactionID: row.requiredText(at: index + 2))
    }
}

/// How a check is read from `trueup_checks`.
extension CheckRecord {
    static let columns = ["asked_at", "signed_date", "clock", "is_lasting", "agreed", "account"]

    /// All of them for a `SELECT`, from a table by its alias.
    static func columns(of table: String) -> String {
        columns.map { "\(table).\($0)" }.joined(separator: ", ")
    }

    /// Reads `columns`, the first of them at an index; `nil` without a record.
    init?(_ row: Row, at index: Int) { self.init(at: index) { row.integer(at: $0) } }

    /// Reads `columns` by what reads a whole number, the first of them at an index; `nil` without a
    /// record.
    init?(at index: Int, _ integer: (Int) -> Int64?) {
        guard let asked = integer(index), let agreed = integer(index + 4) else { return nil }
        self.init(
            check: RowCheck(
                signedDate: integer(index + 1).map(Timestamp.init(unixMilliseconds:)),
                clock: integer(index + 2).map(Timestamp.init(unixMilliseconds:)),
                isLasting: integer(index + 3) == 1,
                values: ValuesDigest(bits: UInt64(bitPattern: agreed)),
                account: integer(index + 5).map { AccountDigest(bits: UInt64(bitPattern: $0)) }),
            askedAt: Timestamp(unixMilliseconds: asked))
    }
}

/// The columns of the current row of a statement, read where SQLite keeps them.
///
/// GRDB makes a value of each column, and of each text a string. Where every row of a large table
/// is read, that is most of the work. What is read here is what `Row` reads; where that takes more
/// than a look at the bytes, the answer is that it does.
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

    /// A whole number; `nil` for anything else that is there.
    func integer(at index: Int) -> Int64? {
        switch unsafe sqlite3_column_type(statement.sqliteStatement, Int32(index)) {
        case SQLITE_INTEGER:
            unsafe sqlite3_column_int64(statement.sqliteStatement, Int32(index))
        case SQLITE_FLOAT:
            unsafe Int64(exactly: sqlite3_column_double(statement.sqliteStatement, Int32(index)))
        default: nil
        }
    }

    /// Lends the bytes of a column that holds text, until the statement continues.
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

extension TransactionKey {
    /// A condition: a row is the transaction that `arguments` name.
    static let isKey = "bundle_id = ? AND environment = ? AND transaction_id = ?"

    /// The key in the order of the primary key, to bind.
    var arguments: StatementArguments { [bundleID, environment, transactionID] }
}
