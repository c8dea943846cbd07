extension BooksSchema {
    /// What lasts from run to run: the copy of the rows, the agenda, ledger, findings, evidence, events.
    static let tablesOfRows = """
        CREATE TABLE trueup.books_subscriptions (
            books integer, original_transaction_id text COLLATE "C",
            environment text COLLATE "C", bundle_id text COLLATE "C", customer_id text,
            app_account_token text, product_id text, status bigint, expires_date bigint,
            grace_period_expires_date bigint, auto_renew_status bigint,
            auto_renew_product_id text, revocation_date bigint, in_app_ownership_type text,
            latest_transaction_id text, web_order_line_item_id text, signed_date bigint,
            row_version bigint, unreadable text, PRIMARY KEY (books, bundle_id, environment,
            original_transaction_id));
        CREATE TABLE trueup.books_transactions (
            books integer, transaction_id text COLLATE "C", original_transaction_id text,
            environment text COLLATE "C", bundle_id text COLLATE "C", product_id text,
            type text, purchase_date bigint, expires_date bigint, revocation_date bigint,
            revocation_reason bigint, web_order_line_item_id text,
            in_app_ownership_type text, is_upgraded bigint, offer_type bigint, price bigint,
            currency text, signed_date bigint, PRIMARY KEY (books, bundle_id, environment,
            transaction_id));
        CREATE TABLE trueup.books_absences (
            books integer, bundle_id text COLLATE "C", environment text COLLATE "C",
            original_transaction_id text COLLATE "C", first_day text, last_day text,
            distinct_days bigint, PRIMARY KEY (books, bundle_id, environment,
            original_transaction_id));
        CREATE TABLE trueup.books_agenda (
            books integer, bundle_id text COLLATE "C", environment text COLLATE "C",
            original_transaction_id text COLLATE "C", reason bigint, turn bigint,
            since bigint, rests_on bigint, attempts bigint, PRIMARY KEY (books, bundle_id,
            environment, original_transaction_id));
        CREATE TABLE trueup.books_applications (
            books integer, pass_id bigint, plan text, undo_of text, PRIMARY KEY (books,
            pass_id));
        CREATE TABLE trueup.books_awaited_reports (
            books integer, run_id text COLLATE "C", PRIMARY KEY (books, run_id));
        CREATE TABLE trueup.books_canaries (
            books integer, pass_id bigint, bundle_id text COLLATE "C",
            environment text COLLATE "C", original_transaction_id text COLLATE "C", PRIMARY
            KEY (books, pass_id, bundle_id, environment, original_transaction_id));
        CREATE TABLE trueup.books_checks (
            books integer, bundle_id text COLLATE "C", environment text COLLATE "C",
            original_transaction_id text COLLATE "C", asked_at bigint, signed_date bigint,
            clock bigint, is_lasting bigint, agreed bigint, account bigint, customer bigint,
            paid_group text, PRIMARY KEY (books, bundle_id, environment,
            original_transaction_id));
        CREATE TABLE trueup.books_company (
            books integer, only_row bigint, table_name text, first_entry bigint,
            refresh bigint, refreshed_at bigint, row_count bigint, PRIMARY KEY (books,
            only_row));
        CREATE TABLE trueup.books_company_doubled (
            books integer, bundle_id text COLLATE "C", environment text COLLATE "C",
            original_transaction_id text COLLATE "C", PRIMARY KEY (books, bundle_id,
            environment, original_transaction_id));
        CREATE TABLE trueup.books_company_restores (
            books integer, rowid bigint, kept_entry bigint, lost_entry bigint, reason text,
            actor text, declared_at bigint, PRIMARY KEY (books, rowid));
        CREATE TABLE trueup.books_decisions (
            books integer, decision bigint, previous_hash text, hash text, action text,
            finding_id text, content text, reason text, actor text, decided_at bigint,
            until bigint, PRIMARY KEY (books, decision));
        CREATE TABLE trueup.books_event_counts (
            books integer, bundle_id text COLLATE "C", environment text COLLATE "C",
            day bigint, product_id text COLLATE "C", event text COLLATE "C", run_seq bigint,
            events bigint, PRIMARY KEY (books, bundle_id, environment, day, product_id,
            event, run_seq));
        CREATE TABLE trueup.books_event_reads (
            books integer, bundle_id text COLLATE "C", environment text COLLATE "C",
            run_seq bigint, read_from bigint, read_through bigint, PRIMARY KEY (books,
            bundle_id, environment, run_seq));
        CREATE TABLE trueup.books_evidence (
            books integer, evidence_id bigint, digest text, header_id bigint, rest bytea,
            cuts text, app_id bigint, received_bytes bigint, erased_at bigint,
            erased_because text, PRIMARY KEY (books, evidence_id));
        CREATE TABLE trueup.books_evidence_apps (
            books integer, app_id bigint, bundle_id text, environment text,
            expired_through bigint, PRIMARY KEY (books, app_id));
        CREATE TABLE trueup.books_evidence_headers (
            books integer, header_id bigint, digest text, segment bytea, PRIMARY KEY (books,
            header_id));
        CREATE TABLE trueup.books_finding_jobs (
            books integer, finding_id text COLLATE "C", job text COLLATE "C", PRIMARY KEY
            (books, finding_id, job));
        CREATE TABLE trueup.books_findings (
            books integer, finding_id text COLLATE "C", kind text, severity text,
            bundle_id text, environment text, original_transaction_id text,
            first_seen bigint, last_seen bigint, last_pass_id bigint, corrected_by bigint,
            state text, PRIMARY KEY (books, finding_id));
        CREATE TABLE trueup.books_guard_lifts (
            books integer, run_seq bigint, guard text COLLATE "C", reason text, actor text,
            lifted_at bigint, lifted_by text, breach text, PRIMARY KEY (books, run_seq,
            guard));
        CREATE TABLE trueup.books_history_revisions (
            books integer, bundle_id text COLLATE "C", environment text COLLATE "C",
            original_transaction_id text COLLATE "C", revision text, periods bigint,
            periods_sha256 text, PRIMARY KEY (books, bundle_id, environment,
            original_transaction_id));
        CREATE TABLE trueup.books_ledger (
            books integer, entry bigint, previous_hash text, hash text, run_id text,
            kinds text, target_table text, bundle_id text, environment text,
            original_transaction_id text, transaction_id text, changes text, evidence text,
            evidence_renewal text, apple_signed_date bigint, written_at bigint, actor text,
            reason text, undo_of bigint, action text, host text, plan text,
            row_version bigint, access_continues_by text, PRIMARY KEY (books, entry));
        CREATE TABLE trueup.books_notifications (
            books integer, notification_uuid text COLLATE "C", bundle_id text,
            environment text, notification_type text, subtype text, signed_date bigint,
            original_transaction_id text, attempts text, verdict text, evidence text,
            received_at bigint, recovered_at bigint, PRIMARY KEY (books, notification_uuid));
        CREATE TABLE trueup.books_other_payments (
            books integer, bundle_id text COLLATE "C", environment text COLLATE "C",
            original_transaction_id text COLLATE "C", paid_until bigint, PRIMARY KEY (books,
            bundle_id, environment, original_transaction_id));
        CREATE TABLE trueup.books_outbox (
            books integer, ledger_entry bigint, idempotency_key text, event text,
            bundle_id text, environment text, original_transaction_id text, body text,
            attempts bigint, next_attempt_at bigint, last_attempt_at bigint,
            last_error text, told_at bigint, given_up_at bigint, PRIMARY KEY (books,
            ledger_entry));
        CREATE TABLE trueup.books_plans (
            books integer, plan text COLLATE "C", planned_by text, changes bigint,
            applied_by text, applied_at bigint, PRIMARY KEY (books, plan));
        CREATE TABLE trueup.books_quota_calls (
            books integer, bundle_id text COLLATE "C", environment text COLLATE "C",
            endpoint text COLLATE "C", second bigint, calls bigint, PRIMARY KEY (books,
            bundle_id, environment, endpoint, second));
        CREATE TABLE trueup.books_quota_refusals (
            books integer, bundle_id text COLLATE "C", environment text COLLATE "C",
            endpoint text COLLATE "C", resumes_at bigint, rate_share double precision,
            PRIMARY KEY (books, bundle_id, environment, endpoint));
        CREATE TABLE trueup.books_reported_ranges (
            books integer, run_id text COLLATE "C", first_entry bigint, last_entry bigint,
            PRIMARY KEY (books, run_id, first_entry));
        CREATE TABLE trueup.books_restores (
            books integer, lost_hash text COLLATE "C", noticed_at bigint, PRIMARY KEY
            (books, lost_hash));
        CREATE TABLE trueup.books_revocation_answers (
            books integer, certificate text COLLATE "C", issuer text COLLATE "C",
            responder text COLLATE "C", answer bytea, kept_until bigint, PRIMARY KEY (books,
            certificate, issuer, responder));
        CREATE TABLE trueup.books_rounds (
            books integer, job text COLLATE "C", began bigint, PRIMARY KEY (books, job));
        CREATE TABLE trueup.books_row_versions (
            books integer, bundle_id text COLLATE "C", environment text COLLATE "C",
            original_transaction_id text COLLATE "C", row_version bigint, PRIMARY KEY
            (books, bundle_id, environment, original_transaction_id));
        CREATE TABLE trueup.books_stand_ins (
            books integer, bundle_id text COLLATE "C", environment text COLLATE "C",
            true_original text COLLATE "C", original_transaction_id text COLLATE "C",
            PRIMARY KEY (books, bundle_id, environment, true_original,
            original_transaction_id));
        CREATE TABLE trueup.books_table_sizes (
            books integer, run_seq bigint, rows bigint, PRIMARY KEY (books, run_seq));
        CREATE TABLE trueup.books_unremembered_runs (
            books integer, run_seq bigint, resolves bigint, PRIMARY KEY (books, run_seq));
        CREATE TABLE trueup.books_watermarks (
            books integer, bundle_id text COLLATE "C", environment text COLLATE "C",
            read_through bigint, PRIMARY KEY (books, bundle_id, environment));
        CREATE TABLE trueup.books_sequences (
            books integer, name text COLLATE "C", seq bigint, PRIMARY KEY (books, name));
        """
}
