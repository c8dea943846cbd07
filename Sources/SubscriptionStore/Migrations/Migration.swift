import Subscriptions

/// One step of the schema's history.
///
/// A released step is frozen: databases were made by it, so it is plain SQL without application
/// types. The number is the database's `user_version` once the step is done.
package struct Migration: Sendable {
    package let number: Int
    package let sql: String

    /// Marks a file as trueup's (`PRAGMA application_id`): the ASCII codes of `TRUP`.
    package static let applicationID = 0x5452_5550

    /// Every step, in order.
    package static let all = [Migration(number: 1, sql: Schema.statements)]

    /// The schema that this version reads and writes.
    package static var newest: Int { all.last?.number ?? 0 }
}

extension FieldForm {
    /// The type that a column of this form is declared with.
    var declaredType: String {
        switch self {
        case .text: "TEXT"
        case .integer, .time: "INTEGER"
        }
    }
}
