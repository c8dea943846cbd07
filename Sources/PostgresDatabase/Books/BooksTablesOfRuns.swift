extension BooksSchema {
    /// What passes and runs judged, planned and reported.
    static let tablesOfRuns = """
        CREATE TABLE trueup.books_pass_continuations (
            books integer, pass_id bigint, bundle_id text COLLATE "C",
            environment text COLLATE "C", original_transaction_id text COLLATE "C",
            continued_by text COLLATE "C", PRIMARY KEY (books, pass_id, bundle_id,
            environment, original_transaction_id, continued_by));
        CREATE TABLE trueup.books_pass_corrections (
            books integer, correction_id bigint, pass_id bigint, bundle_id text,
            environment text, original_transaction_id text, target text,
            transaction_id text, expected_row_version bigint, changes text, kinds text,
            evidence text, evidence_renewal text, apple_signed_date bigint, reason text,
            fate text, fate_by bigint, staged_by bigint, superseded_by bigint, rules text,
            undo_of bigint, continued_by text, PRIMARY KEY (books, correction_id));
        CREATE TABLE trueup.books_pass_deliveries (
            books integer, pass_id bigint, bundle_id text COLLATE "C",
            environment text COLLATE "C", original_transaction_id text COLLATE "C",
            signed_date bigint, notification_uuid text COLLATE "C", notification_type text,
            subtype text, attempts text, received_at bigint, is_reported bigint, PRIMARY KEY
            (books, pass_id, bundle_id, environment, original_transaction_id, signed_date,
            notification_uuid));
        CREATE TABLE trueup.books_pass_findings (
            books integer, finding_seq bigint, pass_id bigint, finding_id text, kind text,
            severity text, bundle_id text, environment text, key_bundle_id text,
            key_environment text, original_transaction_id text, outcome_bundle_id text,
            outcome_environment text, outcome_original_transaction_id text,
            transaction_id text, customer_id text, product_id text, field text,
            local_value text, apple_value text, local_as_of bigint, apple_as_of bigint,
            direction text, amount bigint, currency text, cause text, evidence text,
            action text, correction_id bigint, superseded_by bigint, changed_at bigint,
            is_carried bigint, asked_because text, PRIMARY KEY (books, finding_seq));
        CREATE TABLE trueup.books_pass_history (
            books integer, pass_id bigint, bundle_id text COLLATE "C",
            environment text COLLATE "C", read_from bigint, read_through bigint, PRIMARY KEY
            (books, pass_id, bundle_id, environment));
        CREATE TABLE trueup.books_pass_notifications (
            books integer, pass_id bigint, bundle_id text COLLATE "C",
            environment text COLLATE "C", notification_uuid text COLLATE "C",
            notification_type text, subtype text, signed_date bigint,
            original_transaction_id text, attempts bigint, last_attempt_result text,
            verdict text, evidence text, staged_by bigint, PRIMARY KEY (books, pass_id,
            bundle_id, environment, notification_uuid));
        CREATE TABLE trueup.books_pass_questions (
            books integer, pass_id bigint, turn bigint, bundle_id text COLLATE "C",
            environment text COLLATE "C", original_transaction_id text COLLATE "C",
            rests_on bigint, PRIMARY KEY (books, pass_id, turn, bundle_id, environment,
            original_transaction_id));
        CREATE TABLE trueup.books_pass_recovered (
            books integer, pass_id bigint, bundle_id text COLLATE "C",
            environment text COLLATE "C", PRIMARY KEY (books, pass_id, bundle_id,
            environment));
        CREATE TABLE trueup.books_pass_revisions (
            books integer, pass_id bigint, bundle_id text COLLATE "C",
            environment text COLLATE "C", original_transaction_id text COLLATE "C",
            revision text, periods bigint, periods_sha256 text, PRIMARY KEY (books, pass_id,
            bundle_id, environment, original_transaction_id));
        CREATE TABLE trueup.books_pass_rows (
            books integer, pass_id bigint, bundle_id text COLLATE "C",
            environment text COLLATE "C", original_transaction_id text COLLATE "C",
            verdict bigint, reason text, is_absent bigint, asks_again bigint, look bigint,
            asked_because bigint, signed_date bigint, clock bigint, is_lasting bigint,
            agreed bigint, account bigint, our_status bigint, apple_status bigint,
            apple_price bigint, apple_currency text, customer bigint, paid_group text,
            PRIMARY KEY (books, pass_id, bundle_id, environment, original_transaction_id));
        CREATE TABLE trueup.books_passes (
            books integer, pass_id bigint, job text, mode text, settings_digest text,
            narrowing text, covers_every_row bigint, began bigint, state text,
            walked_bundle_id text, walked_environment text,
            walked_original_transaction_id text, scheduled_rows bigint, quiet_rows bigint,
            oldest_check bigint, sample_seed bigint, PRIMARY KEY (books, pass_id));
        CREATE TABLE trueup.books_run_calls (
            books integer, run_seq bigint, position bigint, endpoint text, result text,
            calls bigint, PRIMARY KEY (books, run_seq, position));
        CREATE TABLE trueup.books_run_causes (
            books integer, run_seq bigint, position bigint, bundle_id text,
            environment text, cause text, facts text, PRIMARY KEY (books, run_seq, position));
        CREATE TABLE trueup.books_run_evidence (
            books integer, run_seq bigint, statements bigint, received_bytes bigint,
            stored_bytes bigint, last_evidence_id bigint, PRIMARY KEY (books, run_seq));
        CREATE TABLE trueup.books_run_finding_causes (
            books integer, run_seq bigint, finding_seq bigint, cause text, PRIMARY KEY
            (books, run_seq, finding_seq));
        CREATE TABLE trueup.books_run_findings (
            books integer, run_seq bigint, finding_seq bigint, state text, action text,
            first_seen bigint, decision bigint, PRIMARY KEY (books, run_seq, finding_seq));
        CREATE TABLE trueup.books_run_in_flight (
            books integer, run_seq bigint, bundle_id text COLLATE "C",
            environment text COLLATE "C", original_transaction_id text COLLATE "C", PRIMARY
            KEY (books, run_seq, bundle_id, environment, original_transaction_id));
        CREATE TABLE trueup.books_run_not_found (
            books integer, run_seq bigint, bundle_id text COLLATE "C",
            environment text COLLATE "C", original_transaction_id text COLLATE "C",
            customer_id text, first_day text, last_day text, distinct_days bigint,
            status bigint, last_good_as_of bigint, last_good_evidence text, PRIMARY KEY
            (books, run_seq, bundle_id, environment, original_transaction_id));
        CREATE TABLE trueup.books_run_plans (
            books integer, run_seq bigint, plan text, PRIMARY KEY (books, run_seq));
        CREATE TABLE trueup.books_run_totals (
            books integer, run_seq bigint, verdict bigint, reason text COLLATE "C",
            rows bigint, PRIMARY KEY (books, run_seq, verdict, reason));
        CREATE TABLE trueup.books_run_undecided (
            books integer, run_seq bigint, bundle_id text COLLATE "C",
            environment text COLLATE "C", original_transaction_id text COLLATE "C",
            customer_id text, reason text, PRIMARY KEY (books, run_seq, bundle_id,
            environment, original_transaction_id));
        CREATE TABLE trueup.books_runs (
            books integer, run_seq bigint, run_id text, pass_id bigint, resumed_from text,
            job text, mode text, started bigint, apps text, actor text, tool_version text,
            settings_digest text, narrowing text, covers_every_row bigint,
            not_found_confirmations bigint, ended bigint, exit_status text, statuses text,
            messages text, limits text, closes_pass bigint, ledger_head text, job_file text,
            guards text, lists_deleted_at bigint, coverage text, found text,
            report_context text, counted text, control text, measures text, PRIMARY KEY
            (books, run_seq));
        """
}
