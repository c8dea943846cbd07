extension Migration {
    /// Until when customers pay for the same through another source than Apple, as the company
    /// imported it.
    ///
    /// Beside `subscriptions`, whose columns the company's services know. A row that is rebuilt or
    /// deleted and inserted again keeps its entry.
    static let otherPayments = Migration(
        number: 29,
        sql: """
            CREATE TABLE trueup_other_payments (
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                paid_until INTEGER NOT NULL,
                PRIMARY KEY (bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;
            """)
}
