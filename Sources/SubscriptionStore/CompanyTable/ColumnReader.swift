import Foundation
import GRDB
import Subscriptions

/// Reads the columns of one row of the company's, each by its form.
///
/// The company's services write these tables, and SQLite keeps any value in any column. Empty
/// text counts as no value. A value that does not have its column's form reads as absent, and is
/// kept apart from a value that is not known yet.
struct ColumnReader<Field: RowColumn> {
    let row: Row
    private let fields: [Field]
    private(set) var unreadable: [Field: String] = [:]
    private(set) var emptyTexts: Set<Field> = []

    /// - Parameters:
    ///   - row: its first columns are all of the table's, in their order.
    ///   - fields: these columns; made once, because each use of `allCases` makes a new list.
    init(_ row: Row, _ fields: [Field]) {
        self.row = row
        self.fields = fields
    }

    /// A part of the key, whatever is there.
    func key(_ field: Field) -> String {
        fields.firstIndex(of: field).map { row.requiredText(at: $0) } ?? ""
    }

    /// Reads every column but the key's.
    mutating func read(into target: inout Field.Row) {
        for (index, field) in fields.enumerated() {
            let definition = field.definition
            if case .key = definition.place { continue }
            // A free name is the company's own: it is shown and never compared, so any form will
            // do.
            let value =
                definition.content == .name
                ? FieldValue(row.wholeText(at: index).flatMap { $0.isEmpty ? nil : $0 })
                : value(at: index, field, definition.place.form)
            guard value != .null else { continue }
            definition.place.set(value, in: &target)
        }
    }

    private mutating func value(at index: Int, _ field: Field, _ form: FieldForm) -> FieldValue {
        switch row.reading(at: index, as: form) {
        case .value(.text("")):
            emptyTexts.insert(field)
            return .null
        case .value(let value): return value
        case .unreadable(let shown):
            unreadable[field] = shown
            return .null
        }
    }
}

/// The content of a column.
enum ColumnReading: Hashable {
    /// Null, empty text (in whatever column), or a value of the column's form.
    case value(FieldValue)
    /// Anything else, made safe to show.
    case unreadable(String)

    /// The value, or the text that shows what is there instead.
    var shown: FieldValue {
        switch self {
        case .value(let value): value
        case .unreadable(let shown): .text(shown)
        }
    }
}

extension Row {
    /// Reads a column by its form.
    ///
    /// Whole numbers that a driver stored as floating point count as whole; text that is not UTF-8,
    /// or that a NUL cuts short, is not text.
    func reading(at index: Int, as form: FieldForm) -> ColumnReading {
        let stored = stored(at: index)
        switch (stored.value.storage, form) {
        case (.null, _): return .value(.null)
        case (.string(let text), _):
            guard !stored.isPlainText, let bytes = brokenText(text, at: index) else {
                if form == .text || text.isEmpty { return .value(.text(text)) }
                return .unreadable(ShownBytes.inFindings(text))
            }
            return .unreadable(ShownBytes.inFindings(bytes))
        case (.int64(let number), .integer): return .value(.integer(number))
        case (.int64(let number), .time):
            return .value(.time(Timestamp(unixMilliseconds: number)))
        case (.int64(let number), .text): return .unreadable(String(number))
        case (.double(let number), .text): return .unreadable(String(number))
        case (.double(let number), _):
            guard let whole = Int64(exactly: number) else { return .unreadable(String(number)) }
            return .value(
                form == .time ? .time(Timestamp(unixMilliseconds: whole)) : .integer(whole))
        case (.blob(let data), _): return .unreadable(ShownBytes.inFindings([UInt8](data)))
        }
    }

    /// The bytes of a text that `text` does not spell; GRDB repairs what is not UTF-8, visibly, and
    /// stops at the first NUL.
    private func brokenText(_ text: String, at index: Int) -> [UInt8]? {
        let bytes: [UInt8]? = try? withUnsafeData(atIndex: index) { data in
            guard let data else { return nil }
            // What was repaired holds U+FFFD, whose first byte is 0xEF.
            if data.count == text.utf8.count, !text.utf8.contains(0xEF) { return nil }
            let bytes = [UInt8](data)
            return bytes.elementsEqual(text.utf8) ? nil : bytes
        }
        return bytes
    }
}

extension LocalSubscription {
    /// The columns that `init(_:)` reads, of the table `s`.
    static func columns(_ db: Database) throws -> String {
        let optional = try OptionalColumns.present(db)
        return fields.map { $0.expression(of: "s", optional: optional) }.joined(separator: ", ")
            + ", s.row_version"
    }

    private static let fields = SubscriptionField.allCases

    /// How many columns those are: what a query adds comes after them.
    static let columnCount = SubscriptionField.allCases.count + 1

    /// Reads a row of `columns`; what is not of a column's form is in `unreadable`.
    init(_ row: Row) {
        var reader = ColumnReader(row, Self.fields)
        self.init(
            key: SubscriptionKey(
                bundleID: reader.key(.bundleID), environment: reader.key(.environment),
                originalTransactionID: reader.key(.originalTransactionID)))
        reader.read(into: &self)
        rowVersion = row.integer(at: Self.columnCount - 1) ?? 0
        unreadable = reader.unreadable
        emptyTexts = reader.emptyTexts
    }
}

extension LocalTransaction {
    private static let columnsOfPeriods = names(of: .periods)
    private static let columnsOfPurchases = names(of: .purchases)

    private static func names(of table: TransactionTable) -> String {
        table.fields.map { "t." + $0.rawValue }.joined(separator: ", ")
    }

    /// The columns that `init(_:of:)` reads, of the table `t`.
    static func columns(of table: TransactionTable) -> String {
        switch table {
        case .periods: columnsOfPeriods
        case .purchases: columnsOfPurchases
        }
    }

    /// Reads a row of `columns`; what is not of a column's form is in `unreadable`.
    init(_ row: Row, of table: TransactionTable) {
        var reader = ColumnReader(row, table.fields)
        self.init(
            key: TransactionKey(
                bundleID: reader.key(.bundleID), environment: reader.key(.environment),
                transactionID: reader.key(.transactionID)),
            originalTransactionID: reader.key(.originalTransactionID))
        reader.read(into: &self)
        unreadable = reader.unreadable
        emptyTexts = reader.emptyTexts
    }
}
