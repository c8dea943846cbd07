extension StagedTable {
    /// A column of the lines that stands in a table of its own, with the key of the rows.
    struct BesideColumn: Sendable {
        /// Its name in the lines.
        let name: String
        let table: String
        /// Its name in that table, where it is never null.
        let column: String
    }

    /// The value beside the stored row `t`.
    var heldBeside: String {
        guard let beside else { return "NULL" }
        let isOfRow = keyColumns.map { "o.\($0) = t.\($0)" }.joined(separator: " AND ")
        return "(SELECT o.\(beside.column) FROM main.\(beside.table) AS o WHERE \(isOfRow))"
    }

    /// What writes the column, for new rows too; `nil` where the file does not have it.
    ///
    /// Not counted here: a row of the table and what stands beside it are one.
    var writesBeside: [String]? {
        guard let beside, givenColumns.contains(beside.name) else { return nil }
        let list = keyColumns.joined(separator: ", ")
        let keys = keyColumns.map { "s.\($0)" }.joined(separator: ", ")
        let isTaken = """
            \(isGiven(beside.name)) AND NOT EXISTS (
                SELECT 1 FROM main.\(name) AS t WHERE \(keysAgree) AND \(isOlder))
            """
        return [
            """
            INSERT INTO main.\(beside.table) (\(list), \(beside.column))
            SELECT \(keys), s.\(beside.name) FROM \(Self.staging) AS s
            WHERE s.\(beside.name) IS NOT NULL AND \(isTaken)
            ON CONFLICT DO UPDATE SET \(beside.column) = excluded.\(beside.column)
            WHERE \(beside.column) IS NOT excluded.\(beside.column)
            """,
            """
            DELETE FROM main.\(beside.table) WHERE (\(list)) IN (
                SELECT \(keys) FROM \(Self.staging) AS s
                WHERE s.\(beside.name) IS NULL AND \(isTaken))
            """,
        ]
    }
}
