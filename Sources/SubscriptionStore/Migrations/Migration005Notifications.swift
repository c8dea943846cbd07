extension Migration {
    /// The inbox of notifications, how far Apple's history has been read, and what a pass read.
    static let notifications = Migration(
        number: 5,
        sql: """
            CREATE TABLE trueup_notifications (
                notification_uuid TEXT PRIMARY KEY,
                bundle_id TEXT,
                environment TEXT,
                notification_type TEXT,
                subtype TEXT,
                signed_date INTEGER,
                original_transaction_id TEXT,
                attempts TEXT,
                verdict TEXT,
                evidence TEXT,
                received_at INTEGER,
                recovered_at INTEGER
            ) WITHOUT ROWID;

            CREATE TABLE trueup_watermarks (
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                read_through INTEGER NOT NULL,
                PRIMARY KEY (bundle_id, environment)
            ) WITHOUT ROWID;

            CREATE TABLE trueup_pass_recovered (
                pass_id INTEGER NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                PRIMARY KEY (pass_id, bundle_id, environment)
            ) WITHOUT ROWID;

            CREATE TABLE trueup_touched (
                pass_id INTEGER NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                PRIMARY KEY (pass_id, bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;

            CREATE TABLE trueup_pass_notifications (
                pass_id INTEGER NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                notification_uuid TEXT NOT NULL,
                notification_type TEXT NOT NULL,
                subtype TEXT,
                signed_date INTEGER NOT NULL,
                original_transaction_id TEXT,
                attempts INTEGER NOT NULL,
                last_attempt_result TEXT,
                verdict TEXT NOT NULL,
                evidence TEXT NOT NULL,
                staged_by INTEGER NOT NULL,
                PRIMARY KEY (pass_id, bundle_id, environment, notification_uuid)
            ) WITHOUT ROWID;
            """)
}
