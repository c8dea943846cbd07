import Subscriptions

extension Migration {
    /// The steps that add columns: one for each version of the schema that brought any.
    ///
    /// They are made from the columns' definitions, and still as frozen as the others: the name,
    /// the form and the version of a released column stay for ever.
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
