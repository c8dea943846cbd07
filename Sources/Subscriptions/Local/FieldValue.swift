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
