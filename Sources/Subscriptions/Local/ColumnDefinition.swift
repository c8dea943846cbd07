/// The columns of a table or file, by name and in order.
package protocol NamedColumn: RawRepresentable<String>, CaseIterable, Hashable, Sendable {}

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
    /// Where Apple's statement has the value; `nil` for the company's own columns.
    package let stated: ColumnSource<Statement>?
    /// The signed payload that states it.
    package let payload: (any KeyPath<Statement, SignedPayload> & Sendable)?
    /// Whether a job's `authority` may make it report-only.
    package let isGovernable: Bool
    /// The version of the schema that added it; `nil` where the table was made with it.
    ///
    /// Like name and form, it stays for ever once it is released: databases were made by it.
    package let since: Int?

    /// A column that Apple states.
    init(
        _ place: ColumnPlace<Row>, _ stated: ColumnSource<Statement>,
        by payload: any KeyPath<Statement, SignedPayload> & Sendable,
        of content: ColumnContent? = nil,
        isGovernable: Bool = false, since: Int? = nil
    ) {
        self.place = place
        self.stated = stated
        self.payload = payload
        self.content = content ?? ColumnContent(place.form)
        self.isGovernable = isGovernable
        self.since = since
    }

    /// A column of the company's own, or of the row's key.
    init(_ place: ColumnPlace<Row>, of content: ColumnContent? = nil, since: Int? = nil) {
        self.place = place
        self.content = content ?? ColumnContent(place.form)
        self.since = since
        stated = nil
        payload = nil
        isGovernable = false
    }
}

/// The property of a row that holds a column's value.
package enum ColumnPlace<Row>: Sendable {
    /// A part of the row's key, which is set when the row is created.
    case key(any KeyPath<Row, String> & Sendable)
    case text(any WritableKeyPath<Row, String?> & Sendable)
    case number(any WritableKeyPath<Row, Int?> & Sendable)
    case integer(any WritableKeyPath<Row, Int64?> & Sendable)
    /// 0 or 1.
    case flag(any WritableKeyPath<Row, Bool?> & Sendable)
    case time(any WritableKeyPath<Row, Timestamp?> & Sendable)

    package var form: FieldForm {
        switch self {
        case .key, .text: .text
        case .number, .integer, .flag: .integer
        case .time: .time
        }
    }

    package func value(in row: Row) -> FieldValue {
        switch self {
        case .key(let path): .text(row[keyPath: path])
        case .text(let path): FieldValue(row[keyPath: path])
        case .number(let path): FieldValue(row[keyPath: path])
        case .integer(let path): FieldValue(row[keyPath: path])
        case .flag(let path): FieldValue(row[keyPath: path])
        case .time(let path): FieldValue(row[keyPath: path])
        }
    }

    /// Sets the column; a value of another type clears it.
    ///
    /// A key is never changed.
    package func set(_ value: FieldValue, in row: inout Row) {
        switch (self, value) {
        case (.key, _): break
        case (.text(let path), .text(let text)): row[keyPath: path] = text
        case (.number(let path), .integer(let number)):
            row[keyPath: path] = Int(exactly: number)
        case (.integer(let path), .integer(let number)): row[keyPath: path] = number
        case (.flag(let path), .integer(let number)): row[keyPath: path] = number != 0
        case (.time(let path), .time(let time)): row[keyPath: path] = time
        case (.text(let path), _): row[keyPath: path] = nil
        case (.number(let path), _): row[keyPath: path] = nil
        case (.integer(let path), _): row[keyPath: path] = nil
        case (.flag(let path), _): row[keyPath: path] = nil
        case (.time(let path), _): row[keyPath: path] = nil
        }
    }
}

/// The property of Apple's statement that holds a column's value.
package enum ColumnSource<Statement>: Sendable {
    case text(any KeyPath<Statement, String?> & Sendable)
    case number(any KeyPath<Statement, Int?> & Sendable)
    case integer(any KeyPath<Statement, Int64?> & Sendable)
    case flag(any KeyPath<Statement, Bool> & Sendable)
    case time(any KeyPath<Statement, Timestamp?> & Sendable)

    /// Null where Apple states no value that may be written.
    package func value(in statement: Statement) -> FieldValue {
        switch self {
        case .text(let path): FieldValue(statement[keyPath: path])
        case .number(let path): FieldValue(statement[keyPath: path])
        case .integer(let path): FieldValue(statement[keyPath: path])
        case .flag(let path): FieldValue(statement[keyPath: path])
        case .time(let path): FieldValue(statement[keyPath: path])
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
