/// The three types of column values.
package enum FieldForm: Hashable, Sendable {
    case text, integer, time
}

/// A value of a column.
package enum FieldValue: Hashable, Sendable {
    case null
    case text(String)
    case integer(Int64)
    case time(Timestamp)

    package init(_ value: String?) { self = value.map(FieldValue.text) ?? .null }
    package init(_ value: Bool?) { self = value.map { .integer($0 ? 1 : 0) } ?? .null }
    package init(_ value: Int?) { self = value.map { .integer(Int64($0)) } ?? .null }
    package init(_ value: Int64?) { self = value.map(FieldValue.integer) ?? .null }
    package init(_ value: Timestamp?) { self = value.map(FieldValue.time) ?? .null }

    /// Whether it states nothing: null, or empty text.
    package var isEmpty: Bool { self == .null || self == .text("") }

    /// In canonical JSON; times are RFC 3339 text.
    package var json: CanonicalJSON {
        switch self {
        case .null: .null
        case .text(let text): .string(text)
        case .integer(let number): .integer(number)
        case .time(let time): .string(time.rfc3339)
        }
    }

    /// In a CSV field; null is empty.
    package var plainText: String {
        switch self {
        case .null: ""
        case .text(let text): text
        case .integer(let number): String(number)
        case .time(let time): time.rfc3339
        }
    }
}

/// The columns of a table or file, by name and in order.
package protocol NamedColumn: RawRepresentable<String>, CaseIterable, Hashable, Sendable {}

extension NamedColumn {
    /// All columns in the order of their names' bytes.
    static func columnsByName() -> [(name: String, column: Self)] {
        allCases.map { (name: $0.rawValue, column: $0) }
            .sorted { $0.name.precedesByBytes($1.name) }
    }
}

/// The columns of one of the company's tables.
package protocol RowColumn: NamedColumn {
    /// A row of the table.
    associatedtype Row
    /// Apple's statement that such a row is compared with.
    associatedtype Statement

    var definition: ColumnDefinition<Row, Statement> { get }
}

extension RowColumn {
    /// The type of the column's values.
    package var form: FieldForm { definition.place.form }

    /// Whether Apple states the column; the others are the company's own.
    package var isStated: Bool { definition.stated != nil }
}

/// Everything about a column but its name.
package struct ColumnDefinition<Row, Statement>: Sendable {
    package let place: ColumnPlace<Row>
    /// How its values are written in files of rows.
    package let content: ColumnContent
    /// Reads the value from Apple's statement, null where it has none that may be written; `nil` for the
    /// company's own columns.
    package let stated: (@Sendable (Statement) -> FieldValue)?
    /// The signed payload that states it, where that is another than the transaction's.
    package let payload: (@Sendable (Statement) -> SignedPayload)?
    /// Whether a job's `authority` may make it report-only.
    package let isGovernable: Bool
    /// Whether only a table of a company that wants it has the column.
    package let isOptional: Bool

    /// A column that Apple states.
    init(
        _ place: ColumnPlace<Row>, _ stated: @escaping @Sendable (Statement) -> FieldValue,
        by payload: (@Sendable (Statement) -> SignedPayload)? = nil,
        of content: ColumnContent? = nil,
        isGovernable: Bool = false, isOptional: Bool = false
    ) {
        self.place = place
        self.stated = stated
        self.payload = payload
        self.content = content ?? ColumnContent(place.form)
        self.isGovernable = isGovernable
        self.isOptional = isOptional
    }

    /// A column of the company's own, or of the row's key.
    init(_ place: ColumnPlace<Row>, of content: ColumnContent? = nil) {
        self.place = place
        self.content = content ?? ColumnContent(place.form)
        stated = nil
        payload = nil
        isGovernable = false
        isOptional = false
    }
}

/// The property of a row that holds a column's value.
///
/// Plain functions, which a key path literal can replace: to follow a key path that is a value
/// costs more than the rest of a comparison.
package enum ColumnPlace<Row>: Sendable {
    /// Reads a property.
    package typealias Get<Value> = @Sendable (Row) -> Value?
    /// Sets the same property.
    package typealias Set<Value> = @Sendable (inout Row, Value?) -> Void

    /// A part of the row's key, which is set when the row is created.
    case key(@Sendable (Row) -> String)
    case text(Get<String>, Set<String>)
    case number(Get<Int>, Set<Int>)
    case integer(Get<Int64>, Set<Int64>)
    /// 0 or 1.
    case flag(Get<Bool>, Set<Bool>)
    case time(Get<Timestamp>, Set<Timestamp>)

    package var form: FieldForm {
        switch self {
        case .key, .text: .text
        case .number, .integer, .flag: .integer
        case .time: .time
        }
    }

    package func value(in row: Row) -> FieldValue {
        switch self {
        case .key(let get): .text(get(row))
        case .text(let get, _): FieldValue(get(row))
        case .number(let get, _): FieldValue(get(row))
        case .integer(let get, _): FieldValue(get(row))
        case .flag(let get, _): FieldValue(get(row))
        case .time(let get, _): FieldValue(get(row))
        }
    }

    /// Sets the column; a value of another type clears it.
    ///
    /// A key is never changed.
    package func set(_ value: FieldValue, in row: inout Row) {
        switch (self, value) {
        case (.key, _): break
        case (.text(_, let set), .text(let text)): set(&row, text)
        case (.number(_, let set), .integer(let number)): set(&row, Int(exactly: number))
        case (.integer(_, let set), .integer(let number)): set(&row, number)
        case (.flag(_, let set), .integer(let number)): set(&row, number != 0)
        case (.time(_, let set), .time(let time)): set(&row, time)
        case (.text(_, let set), _): set(&row, nil)
        case (.number(_, let set), _): set(&row, nil)
        case (.integer(_, let set), _): set(&row, nil)
        case (.flag(_, let set), _): set(&row, nil)
        case (.time(_, let set), _): set(&row, nil)
        }
    }
}

/// How the values of a column are written in files of rows.
package enum ColumnContent: Hashable, Sendable {
    case text
    /// One to twenty digits.
    case id
    /// An id of the company's in any form: text or a whole number.
    case name
    /// A whole number in a range; the text is the error message for other values.
    case integer(ClosedRange<Int64>, String)
    /// 0 or 1.
    case flag
    /// RFC 3339.
    case time

    init(_ form: FieldForm) {
        self =
            switch form {
            case .text: .text
            case .integer: .integer(Int64.min...Int64.max, "must be a whole number")
            case .time: .time
            }
    }
}
