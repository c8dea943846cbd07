import Crypto
import Foundation
import GRDB
import GRDBSQLite
import Subscriptions

/// The value of a column, and whether a text is as plain as nearly all are.
///
/// GRDB reads a type that can be made from a statement right from there; for any other, its own
/// values included, it looks up the type again for each column of each row.
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
    /// The value of a column, null included.
    func stored(at index: Int) -> StoredValue {
        let value: StoredValue? = self[index]
        return value ?? StoredValue(copied: .null)
    }
}

/// Field values and changes as one line of text that reads back exactly.
///
/// `n` is null, `i5;` an integer, `m5;` a time in UNIX milliseconds, `t2:ab` a text of two bytes. A
/// change is the column's name as a text, then the value before, then the value after; changes are
/// in the order of their columns.
enum FieldValueText {
    static func encode(_ value: FieldValue) -> String {
        var bytes: [UInt8] = []
        append(value, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    static func encode(_ changes: ChangeSet) -> String {
        var bytes: [UInt8] = []
        for (name, change) in changes.named {
            append(.text(name), to: &bytes)
            append(change.before, to: &bytes)
            append(change.after, to: &bytes)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func append(_ value: FieldValue, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes.append(UInt8(ascii: "n"))
        case .integer(let number): append("i", number, ";", to: &bytes)
        case .time(let time): append("m", time.unixMilliseconds, ";", to: &bytes)
        case .text(let text):
            append("t", Int64(text.utf8.count), ":", to: &bytes)
            bytes += text.utf8
        }
    }

    private static func append(
        _ tag: Unicode.Scalar, _ number: Int64, _ mark: Unicode.Scalar, to bytes: inout [UInt8]
    ) {
        bytes.append(UInt8(ascii: tag))
        bytes += String(number).utf8
        bytes.append(UInt8(ascii: mark))
    }

    static func value(_ text: String) throws -> FieldValue {
        var reader = Reader(bytes: Array(text.utf8))
        return try reader.value()
    }

    /// The changes of a row of the table with that name.
    static func changes(_ text: String, of table: String) throws -> ChangeSet {
        switch ChangeSet.Table(rawValue: table) {
        case .subscriptions: .subscription(try columns(text, of: table))
        case .transactions: .period(try columns(text, of: table))
        case .purchases: .purchase(try columns(text, of: table))
        case .ledger: .ledger(try columns(text, of: table))
        case nil:
            throw StoreError.inconsistent(
                "The job's bookkeeping names the table `\(table)`, which this version does not "
                    + "know.")
        }
    }

    private static func columns<Column: NamedColumn>(
        _ text: String, of table: String
    ) throws -> [Column: FieldChange] {
        var reader = Reader(bytes: Array(text.utf8))
        var changes: [Column: FieldChange] = [:]
        changes.reserveCapacity(Column.allCases.count)
        while !reader.isAtEnd {
            guard case .text(let name) = try reader.value() else { throw reader.damage }
            guard let column = Column(rawValue: name) else {
                throw StoreError.inconsistent(
                    "The job's bookkeeping names the column `\(name)`, which the table "
                        + "`\(table)` does not have.")
            }
            changes[column] = FieldChange(before: try reader.value(), after: try reader.value())
        }
        return changes
    }

    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        var isAtEnd: Bool { position >= bytes.count }

        var damage: StoreError {
            .inconsistent(
                "A stored value of the job's bookkeeping cannot be read (at byte \(position)). "
                    + "Restore a backup of the database.")
        }

        mutating func value() throws -> FieldValue {
            guard !isAtEnd else { throw damage }
            let tag = bytes[position]
            position += 1
            switch tag {
            case UInt8(ascii: "n"): return .null
            case UInt8(ascii: "i"): return .integer(try number(before: UInt8(ascii: ";")))
            case UInt8(ascii: "m"):
                let milliseconds = try number(before: UInt8(ascii: ";"))
                return .time(Timestamp(unixMilliseconds: milliseconds))
            case UInt8(ascii: "t"):
                let count = try number(before: UInt8(ascii: ":"))
                guard count >= 0, count <= bytes.count - position else { throw damage }
                let end = position + Int(count)
                defer { position = end }
                return .text(String(decoding: bytes[position..<end], as: UTF8.self))
            default: throw damage
            }
        }

        private mutating func number(before mark: UInt8) throws -> Int64 {
            guard let end = bytes[position...].firstIndex(of: mark),
                let number = Int64(String(decoding: bytes[position..<end], as: UTF8.self))
            else { throw damage }
            position = end + 1
            return number
        }
    }
}

extension FieldValue {
    /// As it is bound to a statement.
    var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .text(let text): text.databaseValue
        case .integer(let number): number.databaseValue
        case .time(let time): time.unixMilliseconds.databaseValue
        }
    }

    /// The bound value of lists: GRDB takes it without going through a key path for each.
    var boundValue: (any DatabaseValueConvertible)? { databaseValue }
}

/// Shows bytes that are stored where a text belongs.
///
/// A binary UUID as customer id is not text, and repairing it would give two customers one name. So
/// such bytes are shown in lowercase hexadecimal digits, and stay as they are in the table.
enum ShownBytes {
    /// The text that the bytes of a BLOB are: themselves where they are plain text.
    static func text(ofBlob bytes: some Collection<UInt8>) -> String {
        guard let text = String(validating: bytes, as: UTF8.self),
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return bytes.hexadecimal }
        return text
    }

    /// The text that the bytes of a TEXT are: themselves unless they are not UTF-8, or no text that
    /// a file of rows could hold.
    static func text(ofText bytes: some Collection<UInt8>) -> String {
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            return bytes.hexadecimal
        }
        return text
    }

    /// Returns the text that shows a column which should hold text and holds bytes that are not a
    /// value.
    static func valueText(of bytes: some Collection<UInt8>, isBlob: Bool) -> String {
        guard !isBlob, !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self)
        else { return inFindings(Array(bytes)) }
        return text
    }

    private static let shownCharacters = 80
    private static let shownBytes = 40

    /// A text of the wrong form, as it is shown in findings: short, and safe in every file.
    static func inFindings(_ text: String) -> String {
        let start = text.prefix(shownCharacters)
        return start.endIndex == text.endIndex
            ? text : "\(start)… (\(text.utf8.count) bytes)"
    }

    /// Bytes of the wrong form, as SQL spells them: `x'0aff'`.
    static func inFindings(_ bytes: [UInt8]) -> String {
        let start = "x'\(bytes.prefix(shownBytes).hexadecimal)'"
        return bytes.count <= shownBytes ? start : "\(start)… (\(bytes.count) bytes)"
    }
}

/// SHA-256 in hexadecimal digits.
enum Hexadecimal {
    static func sha256(of text: some Collection<UInt8>) -> String {
        SHA256.hash(data: Array(text)).hexadecimal
    }
}

/// A list of texts in one column: each on a line of its own.
///
/// Line feeds inside a text become blanks; lists are for names, digests and sentences.
enum TextList {
    private static let lineFeed = UInt8(ascii: "\n")

    static func encode(_ texts: some Sequence<String>) -> String {
        var bytes: [UInt8] = []
        for (index, text) in texts.enumerated() {
            if index > 0 { bytes.append(lineFeed) }
            bytes += text.utf8.lazy.map { $0 == lineFeed ? UInt8(ascii: " ") : $0 }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func decode(_ column: String) -> [String] {
        guard !column.isEmpty else { return [] }
        return column.utf8.split(separator: lineFeed, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// The apps of a run: bundle and environment, a line each.
    static func encode(_ apps: [AppIdentity]) -> String {
        encode(apps.flatMap { [$0.bundleID, $0.environment.rawValue] })
    }

    static func apps(_ column: String) -> [AppIdentity] {
        let texts = decode(column)
        return stride(from: 0, to: texts.count - 1, by: 2).compactMap { index in
            AppStoreEnvironment(rawValue: texts[index + 1]).map {
                AppIdentity(bundleID: texts[index], environment: $0)
            }
        }
    }

    /// The rules of a correction: `kind name version` a line, `-` for no kind.
    static func encode(_ rules: [AppliedRule]) -> String {
        encode(
            rules.map { "\($0.kind?.rawValue ?? "-") \($0.rule.name) \($0.rule.version)" })
    }

    static func rules(_ column: String) -> [AppliedRule] {
        decode(column).compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 3, let version = Int(words[2]) else { return nil }
            return AppliedRule(
                kind: FindingKind(rawValue: String(words[0])),
                rule: RuleVersion(name: String(words[1]), version: version))
        }
    }

    /// Send attempts: a line each, UNIX milliseconds, a blank and Apple's result.
    static func encode(_ attempts: [SendAttempt]) -> String {
        encode(attempts.map { "\($0.attemptDate.unixMilliseconds) \($0.result)" })
    }

    static func attempts(_ column: String) -> [SendAttempt] {
        decode(column).compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let milliseconds = Int64(parts[0]) else { return nil }
            return SendAttempt(
                attemptDate: Timestamp(unixMilliseconds: milliseconds), result: String(parts[1]))
        }
    }
}

/// Figures of a run, stored with it as JSON.
enum StoredJSON {
    static func encode(_ value: (some Encodable)?) throws -> String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try value.map { String(decoding: try encoder.encode($0), as: UTF8.self) }
    }

    static func decode<Value: Decodable>(_ text: String?) throws -> Value? {
        try text.map { try JSONDecoder().decode(Value.self, from: Data($0.utf8)) }
    }
}
