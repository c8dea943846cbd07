extension Migration {
    /// Indexes for what is asked once for each subscription or customer: without them each question
    /// reads a whole table, and the answers together grow with its square.
    static let lookups = Migration(
        number: 14,
        sql: """
            CREATE INDEX trueup_pass_findings_of_other_ids ON trueup_pass_findings (
                pass_id, bundle_id, environment, apple_value)
                WHERE superseded_by IS NULL AND kind IN ('invalid_id', 'migrated');
            CREATE INDEX trueup_pass_findings_by_subscription ON trueup_pass_findings (
                key_bundle_id, key_environment, original_transaction_id);
            CREATE INDEX trueup_pass_findings_by_customer ON trueup_pass_findings (customer_id)
                WHERE customer_id IS NOT NULL;
            CREATE INDEX trueup_pass_corrections_by_subscription ON trueup_pass_corrections (
                bundle_id, environment, original_transaction_id);
            CREATE INDEX trueup_notifications_by_subscription ON trueup_notifications (
                bundle_id, environment, original_transaction_id)
                WHERE original_transaction_id IS NOT NULL;
            CREATE INDEX trueup_pass_notifications_by_subscription ON trueup_pass_notifications (
                bundle_id, environment, original_transaction_id)
                WHERE original_transaction_id IS NOT NULL;
            """)
}
