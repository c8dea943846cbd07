extension Migration {
    /// What Apple's notification history said to the business, counted as it is read.
    ///
    /// `trueup_event_counts`: how many events of a kind a run read of a product and a day (days since
    /// 1970-01-01, of `signedDate` in UTC). A run adds rows of its own and changes no others, so that the
    /// sum up to a run stays what that run's report stated. `trueup_event_reads`: from when to when a run
    /// read all of an app's history, so that what was not read is no zero. Nothing of a customer is in
    /// them: they stay.
    static let business = Migration(
        number: 27,
        sql: """
            CREATE TABLE trueup_event_counts (
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                day INTEGER NOT NULL,
                product_id TEXT NOT NULL,
                event TEXT NOT NULL,
                run_seq INTEGER NOT NULL,
                events INTEGER NOT NULL,
                PRIMARY KEY (bundle_id, environment, day, product_id, event, run_seq)
            ) WITHOUT ROWID;
            CREATE TABLE trueup_event_reads (
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                run_seq INTEGER NOT NULL,
                read_from INTEGER NOT NULL,
                read_through INTEGER NOT NULL,
                PRIMARY KEY (bundle_id, environment, run_seq)
            ) WITHOUT ROWID;
            """)
}
