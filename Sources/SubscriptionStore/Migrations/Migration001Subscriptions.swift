extension Migration {
    /// The company's own tables, which its services read and write too.
    ///
    /// A row's version only ever grows, whoever writes and however: by update, by REPLACE (which is
    /// a delete and an insert, of which only the insert's triggers surely fire) or by deleting and
    /// inserting again. Else a row that moved could come back to the version that was read. The
    /// triggers hold with `recursive_triggers` on and off.
    static let subscriptions = Migration(
        number: 1,
        sql: """
            CREATE TABLE subscriptions (
                original_transaction_id TEXT NOT NULL CHECK (typeof(original_transaction_id) = 'text'),
                environment TEXT NOT NULL CHECK (typeof(environment) = 'text'),
                bundle_id TEXT NOT NULL CHECK (typeof(bundle_id) = 'text'),
                customer_id TEXT,
                app_account_token TEXT,
                product_id TEXT,
                status INTEGER,
                expires_date INTEGER,
                grace_period_expires_date INTEGER,
                auto_renew_status INTEGER,
                auto_renew_product_id TEXT,
                revocation_date INTEGER,
                in_app_ownership_type TEXT,
                latest_transaction_id TEXT,
                web_order_line_item_id TEXT,
                signed_date INTEGER,
                row_version INTEGER NOT NULL DEFAULT 1,
                PRIMARY KEY (bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;

            CREATE INDEX subscriptions_by_original_transaction
                ON subscriptions (original_transaction_id);
            CREATE INDEX subscriptions_by_line_item
                ON subscriptions (web_order_line_item_id, bundle_id, environment)
                WHERE web_order_line_item_id IS NOT NULL;

            CREATE TABLE trueup_row_versions (
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                row_version INTEGER NOT NULL,
                PRIMARY KEY (bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;

            CREATE TRIGGER trueup_raise_row_version AFTER UPDATE ON subscriptions
            WHEN typeof(NEW.row_version) <> 'integer' OR NEW.row_version <= OLD.row_version
            BEGIN
                UPDATE subscriptions
                SET row_version = CASE WHEN typeof(OLD.row_version) = 'integer'
                    THEN OLD.row_version + 1 ELSE 1 END
                WHERE bundle_id = NEW.bundle_id AND environment = NEW.environment
                    AND original_transaction_id = NEW.original_transaction_id;
            END;

            CREATE TRIGGER trueup_keep_version_of_replaced BEFORE INSERT ON subscriptions
            WHEN EXISTS (SELECT 1 FROM subscriptions
                WHERE bundle_id = NEW.bundle_id AND environment = NEW.environment
                    AND original_transaction_id = NEW.original_transaction_id)
            BEGIN
                DELETE FROM trueup_row_versions
                WHERE bundle_id = NEW.bundle_id AND environment = NEW.environment
                    AND original_transaction_id = NEW.original_transaction_id;
                INSERT INTO trueup_row_versions
                SELECT bundle_id, environment, original_transaction_id, row_version
                FROM subscriptions
                WHERE bundle_id = NEW.bundle_id AND environment = NEW.environment
                    AND original_transaction_id = NEW.original_transaction_id;
            END;

            CREATE TRIGGER trueup_keep_version_of_deleted AFTER DELETE ON subscriptions
            BEGIN
                DELETE FROM trueup_row_versions
                WHERE bundle_id = OLD.bundle_id AND environment = OLD.environment
                    AND original_transaction_id = OLD.original_transaction_id;
                INSERT INTO trueup_row_versions VALUES (
                    OLD.bundle_id, OLD.environment, OLD.original_transaction_id, OLD.row_version);
            END;

            CREATE TRIGGER trueup_continue_row_version AFTER INSERT ON subscriptions
            WHEN EXISTS (SELECT 1 FROM trueup_row_versions
                WHERE bundle_id = NEW.bundle_id AND environment = NEW.environment
                    AND original_transaction_id = NEW.original_transaction_id
                    AND row_version >= NEW.row_version)
            BEGIN
                UPDATE subscriptions
                SET row_version = 1 + (SELECT row_version FROM trueup_row_versions
                    WHERE bundle_id = NEW.bundle_id AND environment = NEW.environment
                        AND original_transaction_id = NEW.original_transaction_id)
                WHERE bundle_id = NEW.bundle_id AND environment = NEW.environment
                    AND original_transaction_id = NEW.original_transaction_id;
            END;

            CREATE TABLE transactions (
                transaction_id TEXT NOT NULL CHECK (typeof(transaction_id) = 'text'),
                original_transaction_id TEXT NOT NULL,
                environment TEXT NOT NULL CHECK (typeof(environment) = 'text'),
                bundle_id TEXT NOT NULL CHECK (typeof(bundle_id) = 'text'),
                product_id TEXT,
                type TEXT,
                purchase_date INTEGER,
                expires_date INTEGER,
                revocation_date INTEGER,
                revocation_reason INTEGER,
                web_order_line_item_id TEXT,
                in_app_ownership_type TEXT,
                is_upgraded INTEGER,
                offer_type INTEGER,
                price INTEGER,
                currency TEXT,
                signed_date INTEGER,
                PRIMARY KEY (bundle_id, environment, transaction_id)
            ) WITHOUT ROWID;

            CREATE INDEX transactions_by_original_transaction
                ON transactions (bundle_id, environment, original_transaction_id);
            """)
}
