import Subscriptions

/// A column that a later version added to one of the company's tables.
struct AddedColumn {
    let table: String
    let name: String
    let form: FieldForm
    /// The number of the step that adds it.
    let since: Int

    /// The columns that were added to the company's tables, as their definitions state it.
    static let all =
        columns(SubscriptionField.stored, of: "subscriptions")
        + columns(TransactionField.allCases, of: "transactions")

    private static func columns<Column: RowColumn>(
        _ columns: [Column], of table: String
    ) -> [AddedColumn] {
        columns.compactMap { column in
            column.definition.since.map {
                AddedColumn(table: table, name: column.rawValue, form: column.form, since: $0)
            }
        }
    }
}

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
