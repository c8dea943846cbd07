extension Migration {
    /// Whose each checked row is and what they pay for, so that customers who pay under two Apple
    /// Accounts are found.
    ///
    /// `customer`: digest of the row's `customer_id`; NULL where it has none, or was judged by an
    /// earlier version. `paid_group`: NULL where Apple's statement shows nothing paid.
    static let payers = Migration(
        number: 31,
        sql: """
            ALTER TABLE trueup_checks ADD COLUMN customer INTEGER;
            ALTER TABLE trueup_checks ADD COLUMN paid_group TEXT;
            CREATE INDEX trueup_checks_by_payer ON trueup_checks (customer, paid_group)
                WHERE paid_group IS NOT NULL;
            ALTER TABLE trueup_pass_rows ADD COLUMN customer INTEGER;
            ALTER TABLE trueup_pass_rows ADD COLUMN paid_group TEXT;
            """)
}
