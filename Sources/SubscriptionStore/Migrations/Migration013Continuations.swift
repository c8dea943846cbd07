extension Migration {
    /// What a plan writes before what, how far a history was agreed with, and rows under later ids.
    ///
    /// `trueup_pass_continuations`: the subscription's access goes on by another one, which must be
    /// written first and in the same transaction. Revisions without the periods that they agreed
    /// with say nothing, so the histories are read once more. `trueup_pass_rows.look`: 0 nothing,
    /// 1 where the row stands, 2 Apple's statement, 3 Apple's whole history of periods.
    /// `trueup_stand_ins`: the row stands under the id of a later transaction of the true original.
    static let continuations = Migration(
        number: 13,
        sql: """
            ALTER TABLE trueup_pass_corrections ADD COLUMN continued_by TEXT NOT NULL DEFAULT '';
            CREATE TABLE trueup_pass_continuations (
                pass_id INTEGER NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                continued_by TEXT NOT NULL,
                PRIMARY KEY (
                    pass_id, bundle_id, environment, original_transaction_id, continued_by)
            ) WITHOUT ROWID;
            CREATE INDEX trueup_pass_continuations_by_other ON trueup_pass_continuations (
                pass_id, bundle_id, environment, continued_by);

            ALTER TABLE trueup_ledger ADD COLUMN access_continues_by TEXT;
            CREATE INDEX trueup_ledger_by_continuation ON trueup_ledger (
                bundle_id, environment, access_continues_by)
                WHERE access_continues_by IS NOT NULL;

            ALTER TABLE trueup_pass_rows ADD COLUMN look INTEGER NOT NULL DEFAULT 0;
            DROP TABLE trueup_pass_revisions;
            CREATE TABLE trueup_pass_revisions (
                pass_id INTEGER NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                revision TEXT NOT NULL,
                periods INTEGER,
                periods_sha256 TEXT,
                PRIMARY KEY (pass_id, bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;
            DROP TABLE trueup_history_revisions;
            CREATE TABLE trueup_history_revisions (
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                revision TEXT NOT NULL,
                periods INTEGER,
                periods_sha256 TEXT,
                PRIMARY KEY (bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;
            CREATE INDEX trueup_findings_of_periods ON trueup_findings (
                bundle_id, environment, original_transaction_id)
                WHERE kind IN ('transaction_missing', 'transaction_unknown')
                    AND state IN ('new', 'open', 'recurring', 'acknowledged');

            CREATE TABLE trueup_stand_ins (
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                true_original TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                PRIMARY KEY (bundle_id, environment, true_original, original_transaction_id)
            ) WITHOUT ROWID;
            """)
}
