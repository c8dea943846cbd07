/// The schema that trueup has in a company's database; trueup has nothing in any other schema.
enum OurSchema {
    static let name = "trueup"

    /// The number by which processes that migrate wait for each other: the letters of the name.
    static let lock: Int64 = 0x7472_7565_7570

    /// Whether it is there, and what the user may do: `CREATE SCHEMA IF NOT EXISTS` asks for the
    /// right to make it also where it is there.
    static let standing = """
        SELECT current_user,
            has_database_privilege(current_database(), 'CREATE'),
            (SELECT has_schema_privilege(oid, 'USAGE') FROM pg_catalog.pg_namespace
                WHERE nspname = 'trueup'),
            (SELECT has_schema_privilege(oid, 'CREATE') FROM pg_catalog.pg_namespace
                WHERE nspname = 'trueup')
        """

    static let making = "CREATE SCHEMA trueup"

    /// Makes the table that says how far the schema has come.
    static let opening = """
        CREATE TABLE IF NOT EXISTS trueup.migrations (
            number integer PRIMARY KEY,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp())
        """

    /// Oldest first; each with the table or column by which it shows that it was done.
    ///
    /// A released step is frozen: it describes the past.
    static let steps: [(number: Int, makes: String, statements: String)] = [
        // Every write to a row has its entry here, in one transaction with the row. The number is a
        // part of the key: no two transactions can both commit one.
        (
            number: 1, makes: "ledger",
            statements: """
            CREATE TABLE trueup.ledger (
                books text NOT NULL,
                number bigint NOT NULL,
                digest text NOT NULL,
                run_id text NOT NULL,
                content text NOT NULL,
                written_at bigint NOT NULL,
                committed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
                PRIMARY KEY (books, number));
            COMMENT ON TABLE trueup.ledger IS
                'Every write of trueup to a row of another schema, with its books'' entry'
            """
        ),
        // Who works on which app. The fencing number rises with every holder: a write transaction
        // holds the row and ends when the number is no longer its own.
        (
            number: 2, makes: "leases",
            statements: """
            CREATE TABLE trueup.leases (
                bundle_id text NOT NULL,
                environment text NOT NULL,
                job text NOT NULL,
                books text NOT NULL,
                holder text NOT NULL,
                fence bigint NOT NULL,
                taken_at timestamptz NOT NULL,
                expires_at timestamptz NOT NULL,
                PRIMARY KEY (bundle_id, environment, job))
            """
        ),
        // The calls to Apple of the last hour, by all workers: one quota for each app and endpoint.
        (
            number: 3, makes: "calls",
            statements: """
            CREATE TABLE trueup.calls (
                bundle_id text NOT NULL,
                environment text NOT NULL,
                endpoint text NOT NULL,
                second bigint NOT NULL,
                calls bigint NOT NULL,
                PRIMARY KEY (bundle_id, environment, endpoint, second));
            COMMENT ON TABLE trueup.calls IS
                'Calls to Apple of the last hour, by all workers, in buckets of five seconds'
            """
        ),
        // A line for each run of each worker, so that one place tells of the run of all.
        (
            number: 4, makes: "runs",
            statements: """
            CREATE TABLE trueup.runs (
                books text NOT NULL,
                run_id text NOT NULL,
                worker text NOT NULL,
                apps text NOT NULL,
                job text NOT NULL,
                mode text NOT NULL,
                started timestamptz NOT NULL,
                ended timestamptz,
                outcome text,
                exit_status smallint,
                headline text,
                report text,
                matched bigint NOT NULL,
                discrepant bigint NOT NULL,
                filled bigint NOT NULL,
                undecided jsonb NOT NULL,
                excluded jsonb NOT NULL,
                corrected bigint,
                findings_open bigint,
                findings_new bigint,
                money jsonb,
                PRIMARY KEY (books, run_id));
            CREATE INDEX runs_by_start ON trueup.runs (started);
            COMMENT ON TABLE trueup.runs IS
                'A line for each run of each worker; the proof is the report that it names'
            """
        ),
        // A refusal that one worker gets from Apple holds for all: no worker asks before that time.
        (
            number: 5, makes: "refusals",
            statements: """
            CREATE TABLE trueup.refusals (
                bundle_id text NOT NULL,
                environment text NOT NULL,
                endpoint text NOT NULL,
                resumes_at timestamptz NOT NULL,
                rate_share double precision NOT NULL,
                PRIMARY KEY (bundle_id, environment, endpoint));
            COMMENT ON TABLE trueup.refusals IS
                'The last 429 of Apple, to whatever worker: no call is booked before resumes_at'
            """
        ),
        // Where the holder's books are, so that copies of them are not used at once.
        (
            number: 6, makes: "leases.place",
            statements: "ALTER TABLE trueup.leases ADD COLUMN place text"
        ),
    ]

    /// The numbers of the steps that are noted as done, and whose table or column is not there.
    static var lost: String {
        let made = steps.map { "(\($0.number), '\($0.makes)')" }.joined(separator: ", ")
        return """
            SELECT s.number FROM (VALUES \(made)) AS s (number, makes)
            JOIN trueup.migrations AS m ON m.number = s.number
            WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_attribute AS a
                WHERE a.attrelid = to_regclass('trueup.' || split_part(s.makes, '.', 1))
                    AND split_part(s.makes, '.', 2) IN ('', a.attname) AND NOT a.attisdropped)
            ORDER BY s.number
            """
    }

    static let newest = steps.map(\.number).max() ?? 0
}
