/// Rows that have no key: pages go by the key, and leave them out.
extension MappedStatements {
    /// Counts the rows with NULL in a column of the key.
    ///
    /// - Parameter apps: Whose rows, as far as columns tell apps apart; `nil` for all.
    /// - Returns: A query of one row: how many there are, then how many of them have no value in
    ///   each of `TableMapping.keyColumns`; `nil` where the key stands in no column.
    package func keyless(of apps: [AppIdentity]? = nil) -> MappedStatement? {
        let names = mapping.keyColumns.map { column($0.column) }
        guard !names.isEmpty else { return nil }
        var list = ArgumentList(dialect: dialect)
        let counts =
            ["CAST(count(*) AS TEXT)"]
            + names.map { "CAST(sum(CASE WHEN \($0) IS NULL THEN 1 ELSE 0 END) AS TEXT)" }
        let isKeyless = "(" + names.map { "\($0) IS NULL" }.joined(separator: " OR ") + ")"
        let terms = [isKeyless] + (apps.map { isOf($0, &list) } ?? [])
        return MappedStatement(
            sql: "SELECT \(counts.joined(separator: ", ")) FROM \(table) AS t WHERE "
                + terms.joined(separator: " AND "),
            arguments: list.arguments)
    }

    /// What the query of `keyless` answered.
    package func keyless(of answer: [String?]?) -> KeylessRows {
        let counts = (answer ?? []).map { $0.flatMap { Int64($0) } ?? 0 }
        let columns = zip(mapping.keyColumns, counts.dropFirst()).filter { $0.1 > 0 }
        return KeylessRows(count: counts.first ?? 0, columns: columns.map(\.0.column))
    }
}

/// Rows of the company's table that name no subscription.
package struct KeylessRows: Hashable, Sendable {
    package var count: Int64
    /// The company's columns in which NULL stands.
    package var columns: [String]

    package init(count: Int64 = 0, columns: [String] = []) {
        self.count = count
        self.columns = columns
    }
}
