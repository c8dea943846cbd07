import Subscriptions

/// The tables in which books stand in our schema; only where books do stand there.
///
/// They are those of the books in SQLite with the same columns, and a column `books` that tells the
/// books of several workers apart.
enum BooksSchema {
    /// A released step is frozen: it describes the past.
    struct Step: Hashable, Sendable {
        let number: Int
        let statements: String
    }

    /// All steps, oldest first.
    ///
    /// After the first three, a step has the number of the one in SQLite that it follows.
    static let steps = (written + adding(AddedColumn.all)).sorted { $0.number < $1.number }

    private static let written = [
        Step(number: 1, statements: books), Step(number: 2, statements: tablesOfRows),
        Step(number: 3, statements: tablesOfRuns),
        Step(number: 35, statements: doubtfulAnswers),
    ]

    /// Questions that come again although their rows were judged.
    private static let doubtfulAnswers = """
        ALTER TABLE trueup.books_pass_rows ADD COLUMN is_doubtful bigint;
        ALTER TABLE trueup.books_agenda ADD COLUMN doubts bigint;
        ALTER TABLE trueup.books_agenda ADD COLUMN not_before bigint;
        """

    /// The steps that add columns to the company's tables, made from the columns' definitions.
    static func adding(_ columns: [AddedColumn]) -> [Step] {
        Dictionary(grouping: columns, by: \.since).map { number, columns in
            Step(
                number: number,
                statements: columns.map { column in
                    let type = column.form == .text ? "text" : "bigint"
                    return "ALTER TABLE \(table(column.table)) ADD COLUMN \(column.name) \(type);"
                }.joined(separator: "\n"))
        }
    }

    static let newest = steps.map(\.number).max() ?? 0

    static let opening = """
        CREATE TABLE IF NOT EXISTS trueup.books_migrations (
            number integer PRIMARY KEY,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp())
        """

    /// Which books stand here, in which state, and who writes them.
    private static let books = """
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
        CREATE TABLE trueup.books_holders (
            name text PRIMARY KEY,
            holder text NOT NULL,
            place text NOT NULL,
            taken_at timestamptz NOT NULL,
            expires_at timestamptz NOT NULL);
        COMMENT ON TABLE trueup.books_holders IS
            'Who writes which books now'
        """

    /// The names of all tables that the steps make, as they stand in our schema.
    static let tables = ([opening] + steps.map(\.statements)).flatMap { statements in
        statements.matches(of: /CREATE TABLE (?:IF NOT EXISTS )?trueup\.(\w+)/).map { String($0.1) }
    }

    /// Where a table of the books stands.
    static func table(_ name: String) -> String {
        let own = name == "sqlite_sequence" ? "sequences" : name
        return "trueup.books_" + (own.hasPrefix("trueup_") ? String(own.dropFirst(7)) : own)
    }

    /// Whether rows of a table may hold values of another form than their column's: what somebody
    /// wrote into the company's table, and nobody understands.
    static func keepsUnreadable(_ table: BooksTable) -> Bool { table.name == "subscriptions" }

    static let unreadable = "unreadable"
}

extension SessionKeeper {
    /// Makes the tables of books, one step a transaction, while nobody else does.
    ///
    /// - Throws: `StoreError.schema` where the user may not make them.
    mutating func bringBooksUpToDate() throws(StoreError) {
        try bringUpToDate()
        guard try booksVersion() < BooksSchema.newest else { return }
        for step in BooksSchema.steps {
            try write("making the tables of the books") { session throws(ServerFailure) in
                _ = try session.run(
                    "SELECT pg_advisory_xact_lock($1)", [String(OurSchema.lock)])
                _ = try session.script(BooksSchema.opening)
                let done = try session.run(
                    "SELECT 1 FROM trueup.books_migrations WHERE number = $1",
                    [String(step.number)])
                guard done.rows.isEmpty else { return }
                _ = try session.script(step.statements)
                _ = try session.run(
                    "INSERT INTO trueup.books_migrations (number) VALUES ($1)",
                    [String(step.number)])
            }
        }
    }

    /// How far the tables of the books have come; 0 where there are none.
    mutating func booksVersion() throws(StoreError) -> Int {
        try read("looking for the tables of the books") { session throws(ServerFailure) in
            let table = try session.run("SELECT to_regclass('trueup.books_migrations')", [])
            guard table.first != nil else { return 0 }
            return try session.run("SELECT max(number) FROM trueup.books_migrations", []).first
                .flatMap { Int($0) } ?? 0
        }
    }
}
