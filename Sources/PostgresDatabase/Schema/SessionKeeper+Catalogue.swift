import Subscriptions

extension SessionKeeper {
    /// Tables and views as the server's catalogue describes them.
    ///
    /// - Parameters:
    ///   - name: Only this one; `nil` for all that the user may see.
    ///   - withParts: Whether also partitions, and tables that inherit from another one.
    /// - Returns: By schema and name.
    /// - Throws: `StoreError` when the catalogue cannot be read.
    mutating func tables(
        named name: CompanyTableName? = nil, withParts: Bool = true
    ) throws(StoreError) -> [CompanyTableDescription] {
        let arguments = [name?.schema, name?.name, String(withParts)]
        return try read("reading the tables' descriptions") { session throws(ServerFailure) in
            var catalogue = TableCatalogue()
            for row in try session.run(TableCatalogue.columns, arguments).rows {
                catalogue.add(column: row)
            }
            for row in try session.run(TableCatalogue.indexes, arguments).rows {
                catalogue.add(indexColumn: row)
            }
            return catalogue.tables
        }
    }
}

/// Puts tables together from the rows of the catalogue: one for each column, and one for each column
/// of an index.
struct TableCatalogue: Sendable {
    private(set) var tables: [CompanyTableDescription] = []
    private var places: [String: Int] = [:]
    private var indexes: [String: Int] = [:]

    /// Which relations are meant: those of a name, where `$1` is the schema and `$2` the name, or all.
    ///
    /// Without a schema, a name means what the search path finds, as in a statement. The rows of
    /// partitions and heirs, which `$3` may leave out, are those of the table that they belong to.
    private static let meant = """
        c.relkind IN ('r', 'p', 'v', 'm', 'f')
            AND n.nspname NOT IN ('information_schema', 'trueup')
            AND n.nspname NOT LIKE 'pg\\_%' AND has_schema_privilege(n.oid, 'USAGE')
            AND ($1::text IS NULL OR n.nspname = $1)
            AND ($2::text IS NULL OR c.relname = $2
                AND ($1::text IS NOT NULL OR pg_table_is_visible(c.oid)))
            AND ($3::boolean OR NOT EXISTS
                (SELECT 1 FROM pg_catalog.pg_inherits AS h WHERE h.inhrelid = c.oid))
        """

    /// A domain has the type that it is over.
    static let columns = """
        SELECT c.oid, n.nspname, c.relname, c.relkind IN ('v', 'm'),
            has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'),
            has_column_privilege(c.oid, a.attnum, 'INSERT'),
            a.attname,
            lower(CASE t.typtype WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod)
                ELSE format_type(a.atttypid, a.atttypmod) END),
            NOT a.attnotnull,
            a.atthasdef OR a.attidentity <> '',
            has_column_privilege(c.oid, a.attnum, 'UPDATE'),
            a.attgenerated <> '' OR a.attidentity = 'a'
        FROM pg_catalog.pg_class AS c
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid
        JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
        WHERE a.attnum > 0 AND NOT a.attisdropped AND \(meant)
        ORDER BY n.nspname, c.relname, a.attnum
        """

    /// An index on an expression has no column at that place.
    static let indexes = """
        SELECT c.oid, i.indexrelid, i.indisprimary, i.indisunique, i.indpred IS NULL, a.attname
        FROM pg_catalog.pg_index AS i
        JOIN pg_catalog.pg_class AS c ON c.oid = i.indrelid
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k (number, place)
        LEFT JOIN pg_catalog.pg_attribute AS a
            ON a.attrelid = c.oid AND a.attnum = k.number AND k.number > 0
        WHERE i.indisvalid AND k.place <= i.indnkeyatts AND \(meant)
        ORDER BY c.oid, i.indexrelid, k.place
        """

    mutating func add(column row: [String?]) {
        guard row.count == 12, let table = row[0], let name = row[6] else { return }
        if places[table] == nil {
            places[table] = tables.count
            tables.append(
                CompanyTableDescription(
                    name: CompanyTableName(schema: row[1], name: row[2] ?? ""),
                    isView: Self.isTrue(row[3]), columns: [], primaryKey: [], indexes: [],
                    rights: CompanyRights(
                        maySelect: Self.isTrue(row[4]), updatable: [], insertable: [])))
        }
        guard let place = places[table] else { return }
        tables[place].columns.append(
            CompanyColumn(
                name: name, type: row[7] ?? "", isNullable: Self.isTrue(row[8]),
                hasDefault: Self.isTrue(row[9]), isGenerated: Self.isTrue(row[11])))
        if Self.isTrue(row[5]) { tables[place].rights.insertable.insert(name) }
        if Self.isTrue(row[10]) { tables[place].rights.updatable.insert(name) }
    }

    mutating func add(indexColumn row: [String?]) {
        guard row.count == 6, let table = row[0], let index = row[1], let place = places[table]
        else { return }
        let column = row[5] ?? ""
        if Self.isTrue(row[2]) { return tables[place].primaryKey.append(column) }
        if let known = indexes[index] {
            return tables[place].indexes[known].columns.append(column)
        }
        indexes[index] = tables[place].indexes.count
        tables[place].indexes.append(
            CompanyIndex(
                columns: [column], isUnique: Self.isTrue(row[3]), isWhole: Self.isTrue(row[4])))
    }

    private static func isTrue(_ text: String?) -> Bool { text == "t" }
}
