extension Migration {
    /// Indexes for lookups that otherwise read all findings of a pass, or all findings, for each row.
    ///
    /// SQLite has no statistics of a new database, so it takes the first index that fits one column.
    static let furtherLookups = Migration(
        number: 36,
        sql: """
            CREATE INDEX trueup_pass_findings_by_finding
                ON trueup_pass_findings (pass_id, finding_id);
            CREATE INDEX trueup_pass_findings_carried ON trueup_pass_findings (pass_id)
                WHERE is_carried = 1;
            CREATE INDEX trueup_pass_findings_of_overlaps ON trueup_pass_findings (pass_id)
                WHERE kind = 'overlapping_subscriptions' AND superseded_by IS NULL;
            CREATE INDEX trueup_findings_by_subscription ON trueup_findings (
                bundle_id, environment, original_transaction_id);
            DROP INDEX trueup_findings_of_periods;
            """)
}
