/// The tables that trueup makes: schema 1, grouped by subject.
///
/// Every table but `subscriptions`, `transactions` and `purchases` belongs to trueup alone and
/// begins with `trueup_`. Times are UNIX milliseconds. `pass_id` is the number of a checkpoint,
/// `run_seq` that of a run. Comments precede their statement: SQLite would store a comment inside
/// it.
///
/// Databases were made by these statements, so they are frozen once released: a change is a
/// further `Migration`.
enum Schema {
    /// All statements, in an order in which each finds the tables that it names.
    static let statements = [
        companyRows, entitlements, otherDatabases, ledger, plans,
        outbox,
        evidence, knownIDs, notifications,
        agenda, quota, checkpoints, checkpointHistory, runs, runLists, findings,
    ].joined(separator: "\n")

    /// The company's rows, which its services read and write too, and what trueup notes next to
    /// them.
    ///
    /// A row's version only ever grows, whichever program writes and however: by update, by REPLACE
    /// (which is a delete and an insert, of which only the insert's triggers always fire) or by
    /// deleting and inserting again. Otherwise a changed row could return to the version that was
    /// read. The triggers work with `recursive_triggers` on and off.
    static let companyRows = """
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

        -- The last version of each row that was replaced or deleted, written by the triggers above.
        CREATE TABLE trueup_row_versions (
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            row_version INTEGER NOT NULL,
            PRIMARY KEY (bundle_id, environment, original_transaction_id)
        ) WITHOUT ROWID;

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

        -- One-time purchases: consumables, non-consumables and non-renewing subscriptions. Each is one
        -- transaction.
        CREATE TABLE purchases (
            transaction_id TEXT NOT NULL CHECK (typeof(transaction_id) = 'text'),
            original_transaction_id TEXT NOT NULL,
            environment TEXT NOT NULL CHECK (typeof(environment) = 'text'),
            bundle_id TEXT NOT NULL CHECK (typeof(bundle_id) = 'text'),
            customer_id TEXT,
            app_account_token TEXT,
            product_id TEXT,
            type TEXT,
            quantity INTEGER,
            purchase_date INTEGER,
            revocation_date INTEGER,
            revocation_reason INTEGER,
            revocation_percentage INTEGER,
            price INTEGER,
            currency TEXT,
            signed_date INTEGER,
            PRIMARY KEY (bundle_id, environment, transaction_id)
        ) WITHOUT ROWID;
        CREATE INDEX purchases_by_customer
            ON purchases (customer_id) WHERE customer_id IS NOT NULL;
        -- When refunds were read last; `owner`: `c:` and the customer, or `t:` and the transaction.
        CREATE TABLE trueup_refund_reads (
            owner TEXT NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            read_at INTEGER NOT NULL,
            pass_id INTEGER NOT NULL,
            PRIMARY KEY (owner, bundle_id, environment)
        ) WITHOUT ROWID;

        -- Until when customers pay for the same through another source than Apple, as the company
        -- imported it. A row that is rebuilt, or deleted and inserted again, keeps its entry.
        CREATE TABLE trueup_other_payments (
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            paid_until INTEGER NOT NULL,
            PRIMARY KEY (bundle_id, environment, original_transaction_id)
        ) WITHOUT ROWID;
        """

    /// Written corrections, hash-chained and only added to, and which reports have shown them.
    static let ledger = """
        -- The trigger on inserts also stops REPLACE, whose delete fires no trigger.
        -- `access_continues_by`: the subscription through which access goes on.
        CREATE TABLE trueup_ledger (
            entry INTEGER PRIMARY KEY,
            previous_hash TEXT NOT NULL,
            hash TEXT NOT NULL,
            run_id TEXT NOT NULL,
            kinds TEXT NOT NULL,
            target_table TEXT NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            transaction_id TEXT,
            changes TEXT NOT NULL,
            evidence TEXT NOT NULL,
            evidence_renewal TEXT,
            apple_signed_date INTEGER NOT NULL,
            written_at INTEGER NOT NULL,
            actor TEXT NOT NULL,
            reason TEXT NOT NULL,
            undo_of INTEGER,
            action TEXT,
            host TEXT,
            plan TEXT,
            row_version INTEGER,
            access_continues_by TEXT
        );
        CREATE INDEX trueup_ledger_by_subscription ON trueup_ledger (
            bundle_id, environment, original_transaction_id, apple_signed_date);
        CREATE INDEX trueup_ledger_by_run ON trueup_ledger (run_id);
        CREATE INDEX trueup_ledger_by_undo ON trueup_ledger (undo_of)
            WHERE undo_of IS NOT NULL;
        CREATE TRIGGER trueup_ledger_is_not_changed BEFORE UPDATE ON trueup_ledger
        BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END;
        CREATE TRIGGER trueup_ledger_is_not_cut BEFORE DELETE ON trueup_ledger
        BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END;
        CREATE TRIGGER trueup_ledger_is_continued BEFORE INSERT ON trueup_ledger
        WHEN NEW.entry <> 1 + ifnull((SELECT max(entry) FROM trueup_ledger), 0)
            OR NEW.previous_hash <> ifnull(
                (SELECT hash FROM trueup_ledger ORDER BY entry DESC LIMIT 1),
                '0000000000000000000000000000000000000000000000000000000000000000')
        BEGIN SELECT RAISE(ABORT, 'an entry of the ledger continues its chain'); END;
        CREATE INDEX trueup_ledger_by_continuation ON trueup_ledger (
            bundle_id, environment, access_continues_by)
            WHERE access_continues_by IS NOT NULL;

        -- Which entries the report of a run showed, first and last included.
        CREATE TABLE trueup_reported_ranges (
            run_id TEXT NOT NULL,
            first_entry INTEGER NOT NULL,
            last_entry INTEGER NOT NULL,
            PRIMARY KEY (run_id, first_entry)
        ) WITHOUT ROWID;
        CREATE INDEX trueup_reported_ranges_by_end ON trueup_reported_ranges (last_entry);

        -- Runs whose report has not got its final name.
        CREATE TABLE trueup_awaited_reports (run_id TEXT PRIMARY KEY) WITHOUT ROWID;

        -- After which restores of a backup all rows were marked to be checked again, by the lost
        -- end of the ledger.
        CREATE TABLE trueup_restores (lost_hash TEXT PRIMARY KEY, noticed_at INTEGER NOT NULL)
            WITHOUT ROWID;
        """

    /// Plans by their digest, and what the guards remember.
    static let plans = """
        CREATE TABLE trueup_plans (
            plan TEXT PRIMARY KEY,
            planned_by TEXT NOT NULL,
            changes INTEGER NOT NULL,
            applied_by TEXT,
            applied_at INTEGER
        ) WITHOUT ROWID;

        CREATE TABLE trueup_run_plans (
            run_seq INTEGER PRIMARY KEY,
            plan TEXT NOT NULL
        );

        -- Whose plan a checkpoint applies, or which run it reverts.
        CREATE TABLE trueup_applications (
            pass_id INTEGER PRIMARY KEY,
            plan TEXT,
            undo_of TEXT
        );

        -- The size of the table, by run.
        CREATE TABLE trueup_table_sizes (
            run_seq INTEGER PRIMARY KEY,
            rows INTEGER NOT NULL
        );

        -- Which guard a person lifted, and why.
        CREATE TABLE trueup_guard_lifts (
            run_seq INTEGER NOT NULL,
            guard TEXT NOT NULL,
            reason TEXT NOT NULL,
            actor TEXT NOT NULL,
            lifted_at INTEGER NOT NULL,
            lifted_by TEXT NOT NULL,
            breach TEXT,
            PRIMARY KEY (run_seq, guard)
        ) WITHOUT ROWID;
        CREATE TRIGGER trueup_guard_lifts_stay BEFORE DELETE ON trueup_guard_lifts
        BEGIN SELECT RAISE(ABORT, 'what was lifted stays on record'); END;
        CREATE TRIGGER trueup_guard_lifts_stand BEFORE UPDATE ON trueup_guard_lifts
        BEGIN SELECT RAISE(ABORT, 'what was lifted stays on record'); END;

        -- Rows that a checkpoint writes before all others.
        CREATE TABLE trueup_canaries (
            pass_id INTEGER NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            PRIMARY KEY (pass_id, bundle_id, environment, original_transaction_id)
        ) WITHOUT ROWID;
        """

    /// Events that wait for delivery, each written with its ledger entry.
    static let outbox = """
        -- The first index holds what waits, in the order in which the events of a subscription are
        -- delivered.
        CREATE TABLE trueup_outbox (
            ledger_entry INTEGER PRIMARY KEY,
            idempotency_key TEXT NOT NULL UNIQUE,
            event TEXT NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            body TEXT,
            attempts INTEGER NOT NULL DEFAULT 0,
            next_attempt_at INTEGER NOT NULL,
            last_attempt_at INTEGER,
            last_error TEXT,
            told_at INTEGER,
            given_up_at INTEGER
        );
        CREATE INDEX trueup_outbox_waiting ON trueup_outbox (
            bundle_id, environment, original_transaction_id, ledger_entry)
            WHERE told_at IS NULL AND given_up_at IS NULL;
        CREATE INDEX trueup_outbox_order ON trueup_outbox (attempts, ledger_entry)
            WHERE told_at IS NULL AND given_up_at IS NULL;
        CREATE INDEX trueup_outbox_given_up ON trueup_outbox (given_up_at)
            WHERE given_up_at IS NOT NULL;
        """

    /// Signed payloads, which prove corrections.
    static let evidence = """
        -- Apple's certificate header is the same in nearly every payload, so it is stored once.
        CREATE TABLE trueup_evidence_headers (
            header_id INTEGER PRIMARY KEY,
            digest TEXT NOT NULL UNIQUE,
            segment BLOB NOT NULL
        );

        -- `cuts`: where the header was cut out of the decoded payload, byte offsets separated by
        -- commas; NULL where `rest` is the text as received. `erased_at`: only the digest is left
        -- since then, a tombstone.
        CREATE TABLE trueup_evidence (
            evidence_id INTEGER PRIMARY KEY,
            digest TEXT NOT NULL UNIQUE,
            header_id INTEGER,
            rest BLOB NOT NULL,
            cuts TEXT,
            app_id INTEGER,
            received_bytes INTEGER,
            erased_at INTEGER,
            erased_because TEXT
        );

        -- `expired_through`: up to which payload of an app retention has been carried out.
        CREATE TABLE trueup_evidence_apps (
            app_id INTEGER PRIMARY KEY,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            expired_through INTEGER NOT NULL DEFAULT 0,
            UNIQUE (bundle_id, environment)
        );

        -- What each run added.
        CREATE TABLE trueup_run_evidence (
            run_seq INTEGER PRIMARY KEY,
            statements INTEGER NOT NULL,
            received_bytes INTEGER NOT NULL,
            stored_bytes INTEGER NOT NULL,
            last_evidence_id INTEGER NOT NULL
        );

        -- Signed OCSP answers, kept until they end.
        CREATE TABLE trueup_revocation_answers (
            certificate TEXT NOT NULL,
            issuer TEXT NOT NULL,
            responder TEXT NOT NULL,
            answer BLOB NOT NULL,
            kept_until INTEGER NOT NULL,
            PRIMARY KEY (certificate, issuer, responder)
        ) WITHOUT ROWID;
        """

    /// Facts about ids that are kept from run to run.
    static let knownIDs = """
        -- Subscriptions that Apple does not know, and on how many days it said so.
        CREATE TABLE trueup_absences (
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            first_day TEXT NOT NULL,
            last_day TEXT NOT NULL,
            distinct_days INTEGER NOT NULL,
            PRIMARY KEY (bundle_id, environment, original_transaction_id)
        ) WITHOUT ROWID;

        -- Up to which revision of Apple's history the stored periods agreed with it, and which
        -- periods these were.
        CREATE TABLE trueup_history_revisions (
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            revision TEXT NOT NULL,
            periods INTEGER,
            periods_sha256 TEXT,
            PRIMARY KEY (bundle_id, environment, original_transaction_id)
        ) WITHOUT ROWID;

        -- The row is stored under the id of a later transaction of the true original.
        CREATE TABLE trueup_stand_ins (
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            true_original TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            PRIMARY KEY (bundle_id, environment, true_original, original_transaction_id)
        ) WITHOUT ROWID;
        """

    /// The inbox of notifications, and how far Apple's history of them was read.
    static let notifications = """
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
        CREATE INDEX trueup_notifications_by_subscription ON trueup_notifications (
            bundle_id, environment, original_transaction_id)
            WHERE original_transaction_id IS NOT NULL;

        CREATE TABLE trueup_watermarks (
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            read_through INTEGER NOT NULL,
            PRIMARY KEY (bundle_id, environment)
        ) WITHOUT ROWID;

        -- How many events of a kind a run read of a product and a day (days since 1970-01-01, of
        -- `signedDate` in UTC). A run adds rows of its own and changes no others, so the sum up to
        -- a run stays what the report of that run stated. They hold nothing about a customer, so
        -- retention leaves them.
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

        -- From when to when a run read all of an app's history: an unread day is not a day without
        -- events.
        CREATE TABLE trueup_event_reads (
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            run_seq INTEGER NOT NULL,
            read_from INTEGER NOT NULL,
            read_through INTEGER NOT NULL,
            PRIMARY KEY (bundle_id, environment, run_seq)
        ) WITHOUT ROWID;
        """

    /// The checks that are pending and why, and when each row was checked last.
    ///
    /// `reason` is the position of a reason among all (docs/delta.md), `turn` that of a question.
    static let agenda = """
        -- `agreed`: digest of the values that the row held, or was planned to hold. `account`,
        -- `customer`: digests of the Apple Account and of the row's `customer_id`. `paid_group`:
        -- NULL where Apple's statement shows nothing paid.
        CREATE TABLE trueup_checks (
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            asked_at INTEGER NOT NULL,
            signed_date INTEGER,
            clock INTEGER,
            is_lasting INTEGER NOT NULL,
            agreed INTEGER NOT NULL,
            account INTEGER,
            customer INTEGER,
            paid_group TEXT,
            PRIMARY KEY (bundle_id, environment, original_transaction_id)
        ) WITHOUT ROWID;
        CREATE INDEX trueup_checks_by_age
            ON trueup_checks (is_lasting, ifnull(signed_date, asked_at), clock);
        CREATE INDEX trueup_checks_by_payer ON trueup_checks (customer, paid_group)
            WHERE paid_group IS NOT NULL;

        -- When Apple signed the newest verified statement about each subscription that any run has
        -- seen, whatever the run did with it.
        CREATE TABLE trueup_statements (
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            signed_date INTEGER NOT NULL,
            PRIMARY KEY (bundle_id, environment, original_transaction_id)
        ) WITHOUT ROWID;

        -- What is pending, whichever job checks it. `doubts`: how many runs in a row ended with an
        -- answer that may be wrong once. `not_before`: the question rests until then; NULL where the
        -- next run asks it.
        CREATE TABLE trueup_agenda (
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            reason INTEGER NOT NULL,
            turn INTEGER NOT NULL,
            since INTEGER NOT NULL,
            rests_on INTEGER,
            attempts INTEGER NOT NULL DEFAULT 0,
            doubts INTEGER NOT NULL DEFAULT 0,
            not_before INTEGER,
            PRIMARY KEY (bundle_id, environment, original_transaction_id)
        ) WITHOUT ROWID;
        CREATE INDEX trueup_agenda_by_turn ON trueup_agenda (
            turn, bundle_id, environment, original_transaction_id);
        CREATE INDEX trueup_agenda_resting ON trueup_agenda (not_before)
            WHERE not_before IS NOT NULL;

        -- What one checkpoint found to be due, and what notifications name that this checkpoint
        -- alone has read.
        CREATE TABLE trueup_pass_questions (
            pass_id INTEGER NOT NULL,
            turn INTEGER NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            rests_on INTEGER,
            PRIMARY KEY (pass_id, turn, bundle_id, environment, original_transaction_id)
        ) WITHOUT ROWID;

        -- When the first run of an unfinished full scan began.
        CREATE TABLE trueup_rounds (job TEXT PRIMARY KEY, began INTEGER NOT NULL) WITHOUT ROWID;
        """

    /// The part of Apple's quota that all processes on this database use together.
    static let quota = """
        -- Calls that were booked before they were made, by the UNIX second at which their bucket
        -- begins; only the last hour is kept.
        CREATE TABLE trueup_quota_calls (
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            endpoint TEXT NOT NULL,
            second INTEGER NOT NULL,
            calls INTEGER NOT NULL,
            PRIMARY KEY (bundle_id, environment, endpoint, second)
        ) WITHOUT ROWID;

        -- The last 429 of each endpoint: until when Apple wanted no calls, and at which part of the
        -- configured rate they went on.
        CREATE TABLE trueup_quota_refusals (
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            endpoint TEXT NOT NULL,
            resumes_at INTEGER NOT NULL,
            rate_share REAL NOT NULL,
            PRIMARY KEY (bundle_id, environment, endpoint)
        ) WITHOUT ROWID;
        """
}
