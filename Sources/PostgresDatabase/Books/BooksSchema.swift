package import Subscriptions

/// The tables of trueup's database on a server.
///
/// They follow from those in SQLite: the same columns, and a column `books` that tells the databases
/// of several workers apart. Only columns of the key refuse NULL, because SQLite has checked the rows.
package struct BooksSchema: Sendable {
    /// The tables that a version of the schema has in SQLite.
    package typealias Tables = @Sendable (_ version: Int) throws(StoreError) -> [BooksTable]

    /// The version that this program reads and writes.
    let newest: Int
    let tables: Tables

    package init(newest: Int, tables: @escaping Tables) {
        self.newest = newest
        self.tables = tables
    }

    static let opening = """
        CREATE TABLE IF NOT EXISTS trueup.books_migrations (
            number integer PRIMARY KEY,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp())
        """

    /// The tables that only a server has: which databases it holds, in which state, and who writes
    /// them.
    private static let own = [
        (
            name: "books",
            statements: """
            CREATE TABLE trueup.books (
                number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                name text NOT NULL,
                identity text NOT NULL,
                schema integer NOT NULL,
                generation bigint NOT NULL,
                is_whole boolean NOT NULL,
                transaction_name text NOT NULL,
                committed_at timestamptz NOT NULL DEFAULT clock_timestamp());
            CREATE UNIQUE INDEX books_by_name ON trueup.books (name) WHERE is_whole;
            COMMENT ON TABLE trueup.books IS
                'The books of trueup, whose rows stand in the tables books_...; generation counts transactions';
            """
        ),
        (
            name: "books_holders",
            statements: """
            CREATE TABLE trueup.books_holders (
                name text PRIMARY KEY,
                holder text NOT NULL,
                place text NOT NULL,
                taken_at timestamptz NOT NULL,
                expires_at timestamptz NOT NULL);
            COMMENT ON TABLE trueup.books_holders IS
                'Who writes which books now';
            """
        ),
    ]

    /// The names of all tables in our schema that belong to a version; none for version 0.
    func names(ofVersion version: Int) throws(StoreError) -> [String] {
        guard version > 0 else { return [] }
        return ["books_migrations"] + Self.own.map(\.name)
            + (try tables(version)).map { Self.name(of: $0.name) }
    }

    /// The statements that make what a server lacks.
    ///
    /// - Parameters:
    ///   - tables: The tables that it needs, as SQLite has them.
    ///   - present: The columns of each table that is there.
    /// - Returns: SQL; an empty text where nothing is lacking.
    static func statements(
        making tables: [BooksTable], beside present: [String: Set<String>]
    ) -> String {
        let own = own.filter { present[$0.name] == nil }.map(\.statements)
        let derived = tables.flatMap { table in
            guard let columns = present[name(of: table.name)] else { return [creation(of: table)] }
            return definitions(of: table).filter { !columns.contains($0.name) }.map {
                "ALTER TABLE \(Self.table(table.name)) ADD COLUMN \($0.text);"
            }
        }
        return (own + derived).joined(separator: "\n")
    }

    private static func creation(of table: BooksTable) -> String {
        let columns = ["books integer"] + definitions(of: table).map(\.text)
        let key = ["books"] + table.key.map { "\"\($0)\"" }
        return """
            CREATE TABLE \(Self.table(table.name)) (
                \(columns.joined(separator: ", ")),
                PRIMARY KEY (\(key.joined(separator: ", "))));
            """
    }

    /// The columns of a table, each with its definition.
    ///
    /// Text of a key is compared byte for byte, as SQLite compares it: rows are read in its order.
    private static func definitions(of table: BooksTable) -> [(name: String, text: String)] {
        let columns = table.columns.map { column in
            let collation =
                column.form == .text && table.key.contains(column.name) ? " COLLATE \"C\"" : ""
            return (column.name, "\"\(column.name)\" \(type(of: column.form))\(collation)")
        }
        return keepsUnreadable(table) ? columns + [(unreadable, "\(unreadable) text")] : columns
    }

    private static func type(of form: BooksColumn.Form) -> String {
        switch form {
        case .integer: "bigint"
        case .real: "double precision"
        case .text: "text"
        case .blob: "bytea"
        }
    }

    /// The name that a table has on a server.
    private static func name(of table: String) -> String {
        let own = table == "sqlite_sequence" ? "sequences" : table
        return "books_" + (own.hasPrefix("trueup_") ? String(own.dropFirst(7)) : own)
    }

    /// The name of a table with that of our schema.
    static func table(_ name: String) -> String { "trueup." + Self.name(of: name) }

    /// Whether rows of a table may hold values of another form than their column's: a service wrote
    /// them into the company's table.
    static func keepsUnreadable(_ table: BooksTable) -> Bool { table.name == "subscriptions" }

    static let unreadable = "unreadable"
}

extension SessionKeeper {
    /// Makes the tables and columns that trueup's database lacks on the server.
    ///
    /// It does so in one transaction, while no other process does. What a newer version made is left
    /// alone.
    ///
    /// An optional column of the company's comes with a newer program, not with a number of the
    /// schema. So what is there is compared, whatever the number.
    ///
    /// - Throws: `StoreError.schema` where the user may not make them.
    mutating func bringBooksUpToDate(to schema: BooksSchema) throws(StoreError) {
        try makeOurTables()
        let version = try booksVersion()
        guard version <= schema.newest else { return }
        let tables = try schema.tables(schema.newest)
        let lacking = try read("reading the columns of trueup's database") {
            session throws(ServerFailure) in
            BooksSchema.statements(making: tables, beside: try Self.columnsOfBooks(session))
        }
        guard version < schema.newest || !lacking.isEmpty else { return }
        try write("making the tables of trueup's database") { session throws(ServerFailure) in
            _ = try session.run("SELECT pg_advisory_xact_lock($1)", [String(OurSchema.lock)])
            _ = try session.script(BooksSchema.opening)
            // Looked at again: another worker may have made them meanwhile.
            _ = try session.script(
                BooksSchema.statements(
                    making: tables, beside: try Self.columnsOfBooks(session)))
            _ = try session.run(
                """
                INSERT INTO trueup.books_migrations (number) VALUES ($1) ON CONFLICT DO NOTHING
                """, [String(schema.newest)])
        }
    }

    /// The columns of the tables that are there.
    private static func columnsOfBooks(
        _ session: any ServerSession
    ) throws(ServerFailure) -> [String: Set<String>] {
        let found = try session.run(
            """
            SELECT c.relname, a.attname FROM pg_class AS c
            JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE c.relnamespace = 'trueup'::regnamespace AND c.relkind = 'r'
                AND (c.relname = 'books' OR c.relname LIKE 'books\\_%')
            """, []
        ).rows.compactMap { row in
            if row.count == 2, let table = row[0], let column = row[1] {
                (table, column)
            } else {
                nil
            }
        }
        return Dictionary(grouping: found, by: \.0).mapValues { Set($0.map(\.1)) }
    }

    /// The version of the tables that are there; 0 where there are none.
    mutating func booksVersion() throws(StoreError) -> Int {
        try read("looking for the tables of trueup's database") { session throws(ServerFailure) in
            let table = try session.run("SELECT to_regclass('trueup.books_migrations')", [])
            guard table.first != nil else { return 0 }
            return try session.run("SELECT max(number) FROM trueup.books_migrations", []).first
                .flatMap { Int($0) } ?? 0
        }
    }
}
