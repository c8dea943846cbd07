extension Schema {
    /// Databases next to this one: the company's own table, whose rows `subscriptions` then holds a
    /// copy of; and the server that holds trueup's database, of which this file is then a copy.
    static let otherDatabases = """
        -- The identity of the database, which its ledger and reports carry.
        CREATE TABLE trueup_database (id TEXT NOT NULL);
        INSERT INTO trueup_database VALUES (lower(hex(randomblob(16))));
        CREATE TRIGGER trueup_database_is_not_changed BEFORE UPDATE ON trueup_database
        BEGIN SELECT RAISE(ABORT, 'the identity of a database never changes'); END;
        CREATE TRIGGER trueup_database_is_not_removed BEFORE DELETE ON trueup_database
        BEGIN SELECT RAISE(ABORT, 'the identity of a database never changes'); END;
        CREATE TRIGGER trueup_database_has_one BEFORE INSERT ON trueup_database
        BEGIN SELECT RAISE(ABORT, 'the identity of a database never changes'); END;

        -- Which table the rows come from, and when they were last read.
        CREATE TABLE trueup_company (
            only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
            table_name TEXT NOT NULL,
            first_entry INTEGER NOT NULL,
            refresh INTEGER NOT NULL,
            refreshed_at INTEGER,
            row_count INTEGER
        );

        -- The last reading that met each row, and its version there.
        CREATE TABLE trueup_company_rows (
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            refresh INTEGER NOT NULL,
            version INTEGER,
            PRIMARY KEY (bundle_id, environment, original_transaction_id)
        ) WITHOUT ROWID;

        -- The same of a company's own table of purchases.
        CREATE TABLE trueup_company_purchases (
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            transaction_id TEXT NOT NULL,
            refresh INTEGER NOT NULL,
            version INTEGER,
            PRIMARY KEY (bundle_id, environment, transaction_id)
        ) WITHOUT ROWID;

        -- Keys that several rows of the company's table have, of which the copy holds one.
        CREATE TABLE trueup_company_doubled (
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            PRIMARY KEY (bundle_id, environment, original_transaction_id)
        ) WITHOUT ROWID;

        -- Losses of the company's table that a person declared.
        CREATE TABLE trueup_company_restores (
            kept_entry INTEGER NOT NULL,
            lost_entry INTEGER NOT NULL,
            reason TEXT NOT NULL,
            actor TEXT NOT NULL,
            declared_at INTEGER NOT NULL
        );

        -- The state on the server that the file is a copy of; no row where the database is this
        -- file alone.
        CREATE TABLE trueup_books_copy (
            only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
            number INTEGER NOT NULL,
            generation INTEGER NOT NULL,
            transaction_name TEXT NOT NULL,
            schema INTEGER NOT NULL
        );
        """
}
