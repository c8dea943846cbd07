import GRDB
import Subscriptions

/// Field values and changes as one line of text that reads back exactly.
///
/// `n` is null, `i5;` an integer, `m5;` a time in UNIX milliseconds, `t2:ab` a text of two bytes.
/// A change is the column's name as a text, then the value before, then the value after; changes
/// stand in the order of their columns.
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

    /// The same for lists: GRDB takes these over without going through a key path for each.
    var boundValue: (any DatabaseValueConvertible)? { databaseValue }
}
