/// Rows that have no key: pages go by the key, and leave them out.
extension MappedStatements {
    /// Counts the rows with NULL in a column of the key.
    ///
    /// - Parameter apps: Whose rows, as far as columns tell apps apart; `nil` for all.
    /// - Returns: A query of one row: how many there are, then how many of them have no value in
    ///   each of `TableMapping.keyColumns`; `nil` where the key is in no column.
    package func keyless(of apps: [AppIdentity]? = nil) -> MappedStatement? {
        let names = mapping.keyColumns.map { column($0.column) }
        guard !names.isEmpty else { return nil }
        var list = ArgumentList(dialect: dialect)
        let type = dialect == .mysql ? "CHAR" : "TEXT"
        let counts =
            ["CAST(count(*) AS \(type))"]
            + names.map { "CAST(sum(CASE WHEN \($0) IS NULL THEN 1 ELSE 0 END) AS \(type))" }
        let isKeyless = "(" + names.map { "\($0) IS NULL" }.joined(separator: " OR ") + ")"
        let terms = [isKeyless] + (apps.map { isOf($0, &list) } ?? [])
        return query(counts.joined(separator: ", "), where: terms, "", list)
    }

    /// Reads the answer to the query of `keyless`.
    package func keyless(of answer: [String?]?) -> KeylessRows {
        let counts = (answer ?? []).map { $0.flatMap { Int64($0) } ?? 0 }
        let columns = zip(mapping.keyColumns, counts.dropFirst()).filter { $0.1 > 0 }
        return KeylessRows(count: counts.first ?? 0, columns: columns.map(\.0.column))
    }
}

/// Rows of the company's table that name no subscription.
package struct KeylessRows: Hashable, Sendable {
    package var count: Int64
    /// The company's columns that hold NULL.
    package var columns: [String]

    package init(count: Int64 = 0, columns: [String] = []) {
        self.count = count
        self.columns = columns
    }
}

/// Rows of apps that a run does not read: a worker looks there before it inserts.
extension MappedStatements {
    /// So many apps are named one by one, so that the index of the key serves; with more the table
    /// is searched.
    private static let appsNamed = 500

    /// The apps of the table besides some.
    ///
    /// - Parameter apps: Those that are read.
    /// - Returns: A query of what is in the columns that tell apps apart, each combination once;
    ///   `nil` where no column does.
    package func apps(besides apps: [AppIdentity]) -> MappedStatement? {
        let names = appColumns.map { column($0.column) }
        guard !names.isEmpty else { return nil }
        var list = ArgumentList(dialect: dialect)
        let isRead = isOf(apps, &list).map { "NOT " + $0 }
        let terms = names.map { "\($0) IS NOT NULL" } + isRead
        let texts = appColumns.map { text(.column($0.column, $0.form)) }
        return query(
            "DISTINCT " + texts.joined(separator: ", "), where: terms,
            " LIMIT \(Self.appsNamed + 1)", list)
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
            case .column(let name, let form) = mapping.columns[mapping.kind.identifier],
            let stored = mapping.stored(id, of: mapping.kind.identifier),
            form == .text || form.value(of: stored, as: .text) != nil
        else { return nil }
        var list = ArgumentList(dialect: dialect)
        var terms = [isEqual(name, stored, form: form, &list)]
        if apps.count <= Self.appsNamed {
            let named = apps.map { app in
                let parts = zip(columns, app).map { part, text in
                    isEqual(part.column, text ?? "", form: part.form, &list)
                }
                return "(" + parts.joined(separator: " AND ") + ")"
            }
            terms.append("(" + named.joined(separator: " OR ") + ")")
        }
        return query(selection, where: terms + isLatest, " LIMIT 20", list)
    }

    private var appColumns: [KeyColumn] {
        mapping.keyColumns.filter { $0.field != mapping.kind.identifier }
    }
}
