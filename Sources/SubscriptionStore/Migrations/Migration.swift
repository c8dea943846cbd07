import Subscriptions

/// One step of the schema's history.
///
/// A released step is frozen: databases were made by it, so it is plain SQL without application
/// types. Only columns that are added to the company's tables follow from their definitions
/// (`AddedColumn`). The number is the database's `user_version` once the step is done.
package struct Migration: Sendable {
    package let number: Int
    package let sql: String

    package init(number: Int, sql: String) {
        self.number = number
        self.sql = sql
    }

    /// Marks a file as trueup's (`PRAGMA application_id`): the ASCII codes of `TRUP`.
    package static let applicationID = 0x5452_5550

    /// Every step, in order.
    package static let all =
        ([Migration(number: 1, sql: Schema.statements)] + adding(AddedColumn.all))
        .sorted { $0.number < $1.number }

    /// The schema that this version reads and writes.
    package static var newest: Int { all.last?.number ?? 0 }

    /// The steps that add columns: one for each number of the schema that brought any.
    ///
    /// They are as frozen as the others: name, form and number of a released column stay for ever.
    static func adding(_ columns: [AddedColumn]) -> [Migration] {
        Dictionary(grouping: columns, by: \.since).map { number, columns in
            Migration(
                number: number,
                sql: columns.map {
                    "ALTER TABLE \($0.table) ADD COLUMN \($0.name) \($0.form.declaredType);"
                }.joined(separator: "\n"))
        }
    }
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
