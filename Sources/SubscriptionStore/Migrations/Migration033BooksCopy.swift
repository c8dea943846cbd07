extension Migration {
    /// Which state of books on a server the file is a copy of; no row where they stand here alone.
    static let booksCopy = Migration(
        number: 33,
        sql: """
            CREATE TABLE trueup_books_copy (
                only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
                number INTEGER NOT NULL,
                generation INTEGER NOT NULL,
                transaction_name TEXT NOT NULL,
                schema INTEGER NOT NULL
            );
            """)
}
