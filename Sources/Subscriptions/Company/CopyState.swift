/// Of which table of the company's the rows in the books are a copy, and as of when.
package struct CopyState: Hashable, Sendable {
    package var table: String
    /// When it was last read to its end; `nil` for never.
    package var refreshedAt: Timestamp?
    package var rows: Int64?

    package init(table: String, refreshedAt: Timestamp?, rows: Int64?) {
        self.table = table
        self.refreshedAt = refreshedAt
        self.rows = rows
    }

    package var json: CanonicalJSON {
        .object([
            "table": .string(table), "read": .time(refreshedAt),
            "rows": rows.map(CanonicalJSON.integer) ?? .null,
        ])
    }
}
