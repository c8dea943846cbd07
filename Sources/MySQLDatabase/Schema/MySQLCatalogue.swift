import Subscriptions

extension MySQLLink {
    /// Tables and views as the server describes them.
    ///
    /// - Parameter name: Only this one; `nil` for all of the database of the URL.
    /// - Returns: By name.
    /// - Throws: `StoreError` when they cannot be read.
    mutating func tables(
        named name: CompanyTableName? = nil
    ) throws(StoreError) -> [CompanyTableDescription] {
        let arguments: [CompanyLiteral] = [
            name?.schema.map(CompanyLiteral.text) ?? .null,
            name.map { .text($0.name) } ?? .null, name.map { .text($0.name) } ?? .null,
        ]
        return try perform("reading the tables' descriptions") { session throws(MySQLFailure) in
            var catalogue = TableCatalogue(schema: name?.schema)
            for row in try session.run(TableCatalogue.columns, arguments).rows {
                catalogue.add(column: row)
            }
            for row in try session.run(TableCatalogue.indexes, arguments).rows {
                catalogue.add(indexColumn: row)
            }
            return catalogue.tables
        }
    }

    /// The storage engine of a table; `nil` for none, as of a view.
    mutating func engine(of name: CompanyTableName) throws(StoreError) -> String? {
        try perform("reading the engine of \(name)") { session throws(MySQLFailure) in
            try session.run(
                """
                SELECT ENGINE FROM information_schema.TABLES
                WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?
                """, [name.schema.map(CompanyLiteral.text) ?? .null, .text(name.name)]
            ).first
        }
    }
}

/// Puts tables together from rows of `information_schema`: one for each column, and one for each
/// column of an index.
struct TableCatalogue: Sendable {
    /// As the mapping names it; `nil` for the database of the URL.
    let schema: String?
    private(set) var tables: [CompanyTableDescription] = []
    private var places: [String: Int] = [:]
    private var indexes: [String: Int] = [:]

    init(schema: String?) { self.schema = schema }

    private static let meant = """
        TABLE_SCHEMA = COALESCE(?, DATABASE()) AND (? IS NULL OR TABLE_NAME = ?)
            AND TABLE_NAME NOT IN ('trueup_corrections', 'trueup_books')
        """

    /// The names are compared as the server compares them; the first of the marks is the schema.
    static let columns = """
        SELECT c.TABLE_NAME, t.TABLE_TYPE, c.COLUMN_NAME, c.COLUMN_TYPE, c.IS_NULLABLE,
            c.COLUMN_DEFAULT, c.EXTRA, c.PRIVILEGES
        FROM information_schema.COLUMNS AS c
        JOIN information_schema.TABLES AS t USING (TABLE_SCHEMA, TABLE_NAME)
        WHERE \(meant.replacing("TABLE_", with: "c.TABLE_"))
        ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION
        """

    static let indexes = """
        SELECT TABLE_NAME, INDEX_NAME, NON_UNIQUE, COLUMN_NAME, SUB_PART
        FROM information_schema.STATISTICS WHERE \(meant)
        ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX
        """

    mutating func add(column row: [String?]) {
        guard row.count == 8, let table = row[0], let name = row[2] else { return }
        if places[table] == nil {
            places[table] = tables.count
            tables.append(
                CompanyTableDescription(
                    name: CompanyTableName(schema: schema, name: table),
                    isView: row[1]?.hasSuffix("VIEW") == true, columns: [], primaryKey: [],
                    indexes: [],
                    rights: CompanyRights(maySelect: false, updatable: [], insertable: [])))
        }
        guard let place = places[table] else { return }
        let extra = (row[6] ?? "").lowercased()
        // MariaDB writes the default NULL as a word.
        let hasDefault = row[5].map { $0 != "NULL" } ?? false
        tables[place].columns.append(
            CompanyColumn(
                name: name, type: (row[3] ?? "").lowercased(), isNullable: row[4] == "YES",
                hasDefault: hasDefault || extra.contains("auto_increment"),
                isGenerated: ["virtual generated", "stored generated", "persistent"]
                    .contains(where: extra.contains)))
        let rights = (row[7] ?? "").lowercased().split(separator: ",").map(String.init)
        if rights.contains("select") { tables[place].rights.maySelect = true }
        if rights.contains("insert") { tables[place].rights.insertable.insert(name) }
        if rights.contains("update") { tables[place].rights.updatable.insert(name) }
    }

    mutating func add(indexColumn row: [String?]) {
        guard row.count == 5, let table = row[0], let index = row[1], let place = places[table]
        else { return }
        let column = row[3] ?? ""
        if index == "PRIMARY" { return tables[place].primaryKey.append(column) }
        // An index of the first letters alone keeps no two rows apart.
        let isWhole = row[4] == nil
        if let known = indexes[table + "\0" + index] {
            tables[place].indexes[known].columns.append(column)
            if !isWhole { tables[place].indexes[known].isWhole = false }
            return
        }
        indexes[table + "\0" + index] = tables[place].indexes.count
        tables[place].indexes.append(
            CompanyIndex(columns: [column], isUnique: row[2] == "0", isWhole: isWhole))
    }
}
