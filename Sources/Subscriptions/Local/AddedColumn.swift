/// A column that a later version added to one of the company's tables.
package struct AddedColumn: Sendable {
    /// Without a prefix, such as `subscriptions`.
    package let table: String
    package let name: String
    package let form: FieldForm
    /// The number of the schema's step that adds it, to books in SQLite and on a server.
    package let since: Int

    package init(table: String, name: String, form: FieldForm, since: Int) {
        self.table = table
        self.name = name
        self.form = form
        self.since = since
    }

    /// The columns that were added to the company's tables, as their definitions state it.
    package static let all =
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
