extension Migration {
    /// Keys that several rows of the company's own table have, of which the copy holds one.
    static let doubledKeys = Migration(
        number: 32,
        sql: """
            CREATE TABLE trueup_company_doubled (
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                PRIMARY KEY (bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;
            """)
}
