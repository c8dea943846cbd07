/// A table or view of the company's database, as the database describes it.
package struct CompanyTableDescription: Hashable, Sendable {
    package var name: CompanyTableName
    package var isView: Bool
    package var columns: [CompanyColumn]
    /// The columns of the primary key, in its order; empty for none.
    package var primaryKey: [String]
    package var indexes: [CompanyIndex]
    package var rights: CompanyRights

    package init(
        name: CompanyTableName, isView: Bool, columns: [CompanyColumn], primaryKey: [String],
        indexes: [CompanyIndex], rights: CompanyRights
    ) {
        self.name = name
        self.isView = isView
        self.columns = columns
        self.primaryKey = primaryKey
        self.indexes = indexes
        self.rights = rights
    }

    package func column(_ name: String) -> CompanyColumn? { columns.first { $0.name == name } }

    /// Whether the primary key or an index begins with these columns, in any order.
    package func isWalkable(by columns: [String]) -> Bool {
        ([primaryKey] + indexes.filter(\.isWhole).map(\.columns)).contains { held in
            !columns.isEmpty && Set(held.prefix(columns.count)) == Set(columns)
        }
    }
}

/// A column of the company's.
package struct CompanyColumn: Hashable, Sendable {
    package var name: String
    /// The declared type in the database's words, lower-case.
    package var type: String
    package var isNullable: Bool
    package var hasDefault: Bool
    /// Whether the table computes or numbers it itself, so that no statement may give it a value.
    package var isGenerated: Bool

    package init(
        name: String, type: String, isNullable: Bool, hasDefault: Bool, isGenerated: Bool = false
    ) {
        self.name = name
        self.type = type
        self.isNullable = isNullable
        self.hasDefault = hasDefault
        self.isGenerated = isGenerated
    }
}

/// An index of the company's.
package struct CompanyIndex: Hashable, Sendable {
    package var columns: [String]
    package var isUnique: Bool
    /// Whether it holds every row: it has no condition.
    package var isWhole: Bool

    package init(columns: [String], isUnique: Bool, isWhole: Bool) {
        self.columns = columns
        self.isUnique = isUnique
        self.isWhole = isWhole
    }
}

/// The rights to a table of the account that we connect with.
package struct CompanyRights: Hashable, Sendable {
    package var maySelect: Bool
    /// The columns that may be updated.
    package var updatable: Set<String>
    /// The columns that an inserted row may be given.
    package var insertable: Set<String>

    package init(maySelect: Bool, updatable: Set<String>, insertable: Set<String>) {
        self.maySelect = maySelect
        self.updatable = updatable
        self.insertable = insertable
    }
}

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

    /// Returns the message of a command that reads imported rows before any were imported; `nil`
    /// where there are some.
    ///
    /// - Parameter job: One that would read the table.
    /// - Returns: A sentence that says what to do.
    package func notRead(job: String = "JOB") -> String? {
        guard refreshedAt == nil else { return nil }
        return "No run has read your table \(table) to its end yet, and this command reads the "
            + "rows that a run imported. \"trueup check \(job)\" imports them, and changes nothing in "
            + "your table."
    }

    package var json: CanonicalJSON {
        .object([
            "table": .string(table), "read": .time(refreshedAt),
            "rows": rows.map(CanonicalJSON.integer) ?? .null,
        ])
    }
}
