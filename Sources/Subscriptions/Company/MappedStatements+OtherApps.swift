/// Rows of apps that a run does not read: a worker looks there before it inserts.
extension MappedStatements {
    /// So many apps are named one by one, so that the index of the key serves; with more the table is
    /// searched.
    private static let appsNamed = 500

    /// The apps of the table besides some.
    ///
    /// - Parameter apps: Those that are read.
    /// - Returns: A query of what stands in the columns that tell apps apart, each combination once;
    ///   `nil` where no column does.
    package func apps(besides apps: [AppIdentity]) -> MappedStatement? {
        let names = appColumns.map { column($0.column) }
        guard !names.isEmpty else { return nil }
        var list = ArgumentList(dialect: dialect)
        let isRead = isOf(apps, &list).map { "NOT " + $0 }
        let terms = names.map { "\($0) IS NOT NULL" } + isRead
        return MappedStatement(
            sql: "SELECT DISTINCT "
                + appColumns.map { text(.column($0.column, $0.form)) }.joined(separator: ", ")
                + " FROM \(table) AS t WHERE " + terms.joined(separator: " AND ")
                + " LIMIT \(Self.appsNamed + 1)",
            arguments: list.arguments)
    }

    /// The rows of a subscription under some apps.
    ///
    /// - Parameters:
    ///   - id: The original transaction id.
    ///   - apps: As `apps(besides:)` found them.
    /// - Returns: A query of `TableMapping.readColumns`; `nil` where no row can be one.
    package func rows(holding id: String, in apps: [[String?]]) -> MappedStatement? {
        let columns = appColumns
        guard !columns.isEmpty, !apps.isEmpty,
            case .column(let name, let form) = mapping.columns[.originalTransactionID],
            let stored = mapping.stored(id, of: .originalTransactionID),
            form == .text || form.value(of: stored, as: .text) != nil
        else { return nil }
        var list = ArgumentList(dialect: dialect)
        var terms = ["\(column(name)) = \(list.mark(keyLiteral(stored, form: form)))"]
        if apps.count <= Self.appsNamed {
            let named = apps.map { app in
                let parts = zip(columns, app).map { part, text in
                    "\(column(part.column)) = \(list.mark(keyLiteral(text ?? "", form: part.form)))"
                }
                return "(" + parts.joined(separator: " AND ") + ")"
            }
            terms.append("(" + named.joined(separator: " OR ") + ")")
        }
        return MappedStatement(
            sql: "SELECT \(selection) FROM \(table) AS t WHERE "
                + (terms + isLatest).joined(separator: " AND ") + " LIMIT 20",
            arguments: list.arguments)
    }

    private var appColumns: [(field: SubscriptionField, column: String, form: ColumnForm)] {
        mapping.keyColumns.filter { $0.field != .originalTransactionID }
    }
}
