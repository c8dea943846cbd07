extension Migration {
    /// What all processes on this database use of Apple's quota together.
    ///
    /// `trueup_quota_calls`: the calls of an app's endpoint that were booked before they were made, by
    /// the UNIX second at which their bucket begins; only the last hour is kept.
    /// `trueup_quota_refusals`: the last 429 of each, until when Apple wanted no calls, and at which
    /// part of the configured rate they went on.
    static let quota = Migration(
        number: 21,
        sql: """
            CREATE TABLE trueup_quota_calls (
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                endpoint TEXT NOT NULL,
                second INTEGER NOT NULL,
                calls INTEGER NOT NULL,
                PRIMARY KEY (bundle_id, environment, endpoint, second)
            ) WITHOUT ROWID;
            CREATE TABLE trueup_quota_refusals (
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                endpoint TEXT NOT NULL,
                resumes_at INTEGER NOT NULL,
                rate_share REAL NOT NULL,
                PRIMARY KEY (bundle_id, environment, endpoint)
            ) WITHOUT ROWID;
            """)
}
