/// The tables of checkpoints and runs.
extension Schema {
    /// The rows that a checkpoint has checked and planned so far; it outlives a killed process.
    ///
    /// `superseded_by`, `staged_by` and `fate_by` hold the sequence number of the run that brought
    /// the change, so that the record of an earlier run of the same checkpoint stays as it was.
    static let checkpoints = """
        CREATE TABLE trueup_passes (
            pass_id INTEGER PRIMARY KEY AUTOINCREMENT,
            job TEXT NOT NULL,
            mode TEXT NOT NULL,
            settings_digest TEXT NOT NULL,
            narrowing TEXT NOT NULL,
            covers_every_row INTEGER NOT NULL,
            began INTEGER NOT NULL,
            state TEXT NOT NULL DEFAULT 'open',
            walked_bundle_id TEXT,
            walked_environment TEXT,
            walked_original_transaction_id TEXT,
            scheduled_rows INTEGER,
            quiet_rows INTEGER,
            oldest_check INTEGER,
            sample_seed INTEGER
        );
        CREATE INDEX trueup_passes_by_state ON trueup_passes (state);

        -- `verdict`: 0 read but not in scope, 1 match, 2 discrepancy, 3 undecided, 4 excluded, 5
        -- inserted by this checkpoint. `look`: 0 nothing, 1 where the row is stored, 2 Apple's
        -- statement, 3 Apple's whole history of periods. `our_status`, `apple_status`: 1 to 5, 0
        -- for none of them; NULL where the row was not checked, or Apple states nothing about it.
        -- `apple_price` in milliunits of `apple_currency`. `is_doubtful`: 1 the verdict rests on an
        -- answer that may be wrong once, 2 the customer's history was not read to its end.
        CREATE TABLE trueup_pass_rows (
            pass_id INTEGER NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            verdict INTEGER NOT NULL,
            reason TEXT,
            is_absent INTEGER NOT NULL DEFAULT 0,
            asks_again INTEGER NOT NULL DEFAULT 0,
            look INTEGER NOT NULL DEFAULT 0,
            asked_because INTEGER,
            signed_date INTEGER,
            clock INTEGER,
            is_lasting INTEGER,
            agreed INTEGER,
            account INTEGER,
            our_status INTEGER,
            apple_status INTEGER,
            apple_price INTEGER,
            apple_currency TEXT,
            customer INTEGER,
            paid_group TEXT,
            is_doubtful INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (pass_id, bundle_id, environment, original_transaction_id)
        ) WITHOUT ROWID;
        CREATE INDEX trueup_pass_rows_to_ask_again
            ON trueup_pass_rows (pass_id, bundle_id, environment, original_transaction_id)
            WHERE asks_again = 1;
        CREATE INDEX trueup_pass_rows_cut_off ON trueup_pass_rows (pass_id)
            WHERE verdict = 3 AND reason IN ('deadline', 'unavailable', 'rate_limited');
        CREATE INDEX trueup_pass_rows_doubtful ON trueup_pass_rows (pass_id)
            WHERE is_doubtful = 1 AND is_absent = 0;

        -- One-time purchases that a checkpoint has compared. `verdict`: 1 match, 2 discrepancy,
        -- 3 undecided.
        CREATE TABLE trueup_pass_purchases (
            pass_id INTEGER NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            transaction_id TEXT NOT NULL,
            verdict INTEGER NOT NULL,
            PRIMARY KEY (pass_id, bundle_id, environment, transaction_id)
        ) WITHOUT ROWID;

        CREATE TABLE trueup_pass_corrections (
            correction_id INTEGER PRIMARY KEY AUTOINCREMENT,
            pass_id INTEGER NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            target TEXT NOT NULL,
            transaction_id TEXT NOT NULL DEFAULT '',
            expected_row_version INTEGER,
            changes TEXT NOT NULL,
            kinds TEXT NOT NULL,
            evidence TEXT NOT NULL,
            evidence_renewal TEXT,
            apple_signed_date INTEGER NOT NULL,
            reason TEXT NOT NULL,
            fate TEXT NOT NULL DEFAULT 'planned',
            fate_by INTEGER,
            staged_by INTEGER NOT NULL,
            superseded_by INTEGER,
            rules TEXT NOT NULL DEFAULT '',
            undo_of INTEGER,
            continued_by TEXT NOT NULL DEFAULT '',
            rests_on INTEGER
        );
        CREATE INDEX trueup_pass_corrections_by_pass ON trueup_pass_corrections (
            pass_id, bundle_id, environment, original_transaction_id, correction_id);
        CREATE INDEX trueup_pass_corrections_planned ON trueup_pass_corrections (
            pass_id, bundle_id, environment, original_transaction_id, correction_id)
            WHERE fate = 'planned' AND superseded_by IS NULL;
        CREATE UNIQUE INDEX trueup_pass_corrections_by_target ON trueup_pass_corrections (
            pass_id, bundle_id, environment, original_transaction_id, target, transaction_id,
            ifnull(undo_of, 0))
            WHERE superseded_by IS NULL;
        CREATE INDEX trueup_pass_corrections_by_subscription ON trueup_pass_corrections (
            bundle_id, environment, original_transaction_id);

        -- Access goes on through another subscription, which must be written first and in the same
        -- transaction.
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

        -- `is_carried`: 1 where the checkpoint did not check the row of an earlier finding, 2 where
        -- it repeats one because no published report has shown it. Several indexes serve questions
        -- about one subscription or customer: without them each reads the whole table.
        CREATE TABLE trueup_pass_findings (
            finding_seq INTEGER PRIMARY KEY AUTOINCREMENT,
            pass_id INTEGER NOT NULL,
            finding_id TEXT NOT NULL,
            kind TEXT NOT NULL,
            severity TEXT NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            key_bundle_id TEXT,
            key_environment TEXT,
            original_transaction_id TEXT,
            outcome_bundle_id TEXT,
            outcome_environment TEXT,
            outcome_original_transaction_id TEXT,
            transaction_id TEXT,
            customer_id TEXT,
            product_id TEXT,
            field TEXT,
            local_value TEXT NOT NULL,
            apple_value TEXT NOT NULL,
            local_as_of INTEGER,
            apple_as_of INTEGER,
            direction TEXT NOT NULL,
            amount INTEGER,
            currency TEXT,
            cause TEXT,
            evidence TEXT,
            action TEXT NOT NULL,
            correction_id INTEGER,
            superseded_by INTEGER,
            changed_at INTEGER,
            is_carried INTEGER NOT NULL DEFAULT 0,
            asked_because TEXT
        );
        CREATE UNIQUE INDEX trueup_pass_findings_by_id ON trueup_pass_findings (
            pass_id, finding_id, ifnull(transaction_id, '')) WHERE superseded_by IS NULL;
        CREATE INDEX trueup_pass_findings_by_outcome ON trueup_pass_findings (
            pass_id, outcome_bundle_id, outcome_environment, outcome_original_transaction_id);
        CREATE INDEX trueup_pass_findings_of_other_ids ON trueup_pass_findings (
            pass_id, bundle_id, environment, apple_value)
            WHERE superseded_by IS NULL AND kind IN ('invalid_id', 'migrated');
        CREATE INDEX trueup_pass_findings_by_subscription ON trueup_pass_findings (
            key_bundle_id, key_environment, original_transaction_id);
        CREATE INDEX trueup_pass_findings_by_customer ON trueup_pass_findings (customer_id)
            WHERE customer_id IS NOT NULL;
        CREATE INDEX trueup_pass_findings_of_notifications ON trueup_pass_findings (pass_id)
            WHERE kind IN ('notification_missed', 'notification_lost');
        CREATE INDEX trueup_pass_findings_by_finding
            ON trueup_pass_findings (pass_id, finding_id);
        CREATE INDEX trueup_pass_findings_carried ON trueup_pass_findings (pass_id)
            WHERE is_carried = 1;
        CREATE INDEX trueup_pass_findings_of_overlaps ON trueup_pass_findings (pass_id)
            WHERE kind = 'overlapping_subscriptions' AND superseded_by IS NULL;
        CREATE INDEX trueup_pass_findings_owed ON trueup_pass_findings (pass_id, finding_id)
            WHERE is_carried = 2;

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
        """

    /// The part of Apple's notification history that a checkpoint read.
    static let checkpointHistory = """
        CREATE TABLE trueup_pass_recovered (
            pass_id INTEGER NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            PRIMARY KEY (pass_id, bundle_id, environment)
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
        CREATE INDEX trueup_pass_notifications_by_subscription ON trueup_pass_notifications (
            bundle_id, environment, original_transaction_id)
            WHERE original_transaction_id IS NOT NULL;

        -- `attempts` has a line for each attempt: UNIX milliseconds, a blank and Apple's result.
        CREATE TABLE trueup_pass_deliveries (
            pass_id INTEGER NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            signed_date INTEGER NOT NULL,
            notification_uuid TEXT NOT NULL,
            notification_type TEXT NOT NULL,
            subtype TEXT,
            attempts TEXT NOT NULL,
            received_at INTEGER,
            is_reported INTEGER NOT NULL,
            PRIMARY KEY (pass_id, bundle_id, environment, original_transaction_id,
                signed_date, notification_uuid)
        ) WITHOUT ROWID;

        CREATE TABLE trueup_pass_history (
            pass_id INTEGER NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            read_from INTEGER NOT NULL,
            read_through INTEGER NOT NULL,
            PRIMARY KEY (pass_id, bundle_id, environment)
        ) WITHOUT ROWID;
        """

    /// Runs, with all that their reports are rendered from again, byte for byte.
    static let runs = """
        -- `job_file`, `guards`: a plan is applied under those of its own job, whatever has become
        -- of the file. `found`: the findings by kind and the money of the run, as JSON, for later
        -- reports: the lists behind them fall under `retention`. `counted`, `control`, `measures`:
        -- the tables as the run began, the control totals of its end and what was measured, as
        -- JSON. `report_context`: text of the reports' own.
        CREATE TABLE trueup_runs (
            run_seq INTEGER PRIMARY KEY AUTOINCREMENT,
            run_id TEXT NOT NULL UNIQUE,
            pass_id INTEGER NOT NULL,
            resumed_from TEXT,
            job TEXT NOT NULL,
            mode TEXT NOT NULL,
            started INTEGER NOT NULL,
            apps TEXT NOT NULL,
            actor TEXT NOT NULL,
            tool_version TEXT NOT NULL,
            settings_digest TEXT NOT NULL,
            narrowing TEXT NOT NULL,
            covers_every_row INTEGER NOT NULL,
            not_found_confirmations INTEGER NOT NULL,
            ended INTEGER,
            exit_status TEXT,
            statuses TEXT,
            messages TEXT,
            limits TEXT,
            closes_pass INTEGER,
            ledger_head TEXT,
            job_file TEXT,
            guards TEXT,
            lists_deleted_at INTEGER,
            coverage TEXT,
            found TEXT,
            report_context TEXT,
            counted TEXT,
            control TEXT,
            measures TEXT
        );
        CREATE INDEX trueup_runs_by_pass ON trueup_runs (pass_id);

        CREATE TABLE trueup_run_totals (
            run_seq INTEGER NOT NULL,
            verdict INTEGER NOT NULL,
            reason TEXT NOT NULL DEFAULT '',
            rows INTEGER NOT NULL,
            PRIMARY KEY (run_seq, verdict, reason)
        ) WITHOUT ROWID;

        CREATE TABLE trueup_run_calls (
            run_seq INTEGER NOT NULL,
            position INTEGER NOT NULL,
            endpoint TEXT NOT NULL,
            result TEXT NOT NULL,
            calls INTEGER NOT NULL,
            PRIMARY KEY (run_seq, position)
        ) WITHOUT ROWID;
        """

    /// The lists of a run's report, which fall under `retention`.
    static let runLists = """
        CREATE TABLE trueup_run_undecided (
            run_seq INTEGER NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            customer_id TEXT,
            reason TEXT NOT NULL,
            PRIMARY KEY (run_seq, bundle_id, environment, original_transaction_id)
        ) WITHOUT ROWID;

        CREATE TABLE trueup_run_not_found (
            run_seq INTEGER NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            customer_id TEXT,
            first_day TEXT NOT NULL,
            last_day TEXT NOT NULL,
            distinct_days INTEGER NOT NULL,
            status INTEGER,
            last_good_as_of INTEGER,
            last_good_evidence TEXT,
            PRIMARY KEY (run_seq, bundle_id, environment, original_transaction_id)
        ) WITHOUT ROWID;

        -- Rows that the run left out as in flight, which no reason names once its checkpoint is
        -- deleted.
        CREATE TABLE trueup_run_in_flight (
            run_seq INTEGER NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            PRIMARY KEY (run_seq, bundle_id, environment, original_transaction_id)
        ) WITHOUT ROWID;

        -- Purchases whose owner is not known, a line for each customer for whom something speaks.
        -- Listed by the reports of the runs from `since_run` on, before `until_run`. `listed_by`: the
        -- table of the row, or `findings`; `key_id`: the row's id there.
        CREATE TABLE trueup_unowned (
            line INTEGER PRIMARY KEY,
            listed_by TEXT NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            key_id TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            transaction_id TEXT,
            product_id TEXT,
            reason TEXT NOT NULL,
            customer_id TEXT,
            app_account_token TEXT,
            apple_account_token TEXT,
            speaks_for TEXT,
            because TEXT,
            evidence TEXT,
            since_run INTEGER NOT NULL,
            until_run INTEGER
        );
        CREATE INDEX trueup_unowned_open ON trueup_unowned (
            listed_by, bundle_id, environment, key_id) WHERE until_run IS NULL;
        CREATE INDEX trueup_unowned_by_subscription ON trueup_unowned (
            bundle_id, environment, original_transaction_id);
        CREATE INDEX trueup_unowned_gone ON trueup_unowned (until_run)
            WHERE until_run IS NOT NULL;
        CREATE INDEX trueup_unowned_by_customer ON trueup_unowned (customer_id)
            WHERE customer_id IS NOT NULL;
        CREATE INDEX trueup_unowned_by_speaker ON trueup_unowned (speaks_for)
            WHERE speaks_for IS NOT NULL;

        -- `decision`: by which the finding is reported as acknowledged.
        CREATE TABLE trueup_run_findings (
            run_seq INTEGER NOT NULL,
            finding_seq INTEGER NOT NULL,
            state TEXT NOT NULL,
            action TEXT NOT NULL,
            first_seen INTEGER NOT NULL,
            decision INTEGER,
            PRIMARY KEY (run_seq, finding_seq)
        ) WITHOUT ROWID;

        CREATE TABLE trueup_run_finding_causes (
            run_seq INTEGER NOT NULL,
            finding_seq INTEGER NOT NULL,
            cause TEXT NOT NULL,
            PRIMARY KEY (run_seq, finding_seq)
        ) WITHOUT ROWID;

        -- `facts` is JSON.
        CREATE TABLE trueup_run_causes (
            run_seq INTEGER NOT NULL,
            position INTEGER NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            cause TEXT NOT NULL,
            facts TEXT NOT NULL,
            PRIMARY KEY (run_seq, position)
        ) WITHOUT ROWID;
        """

    /// Findings from run to run, and what people decided about them.
    static let findings = """
        CREATE TABLE trueup_findings (
            finding_id TEXT PRIMARY KEY,
            kind TEXT NOT NULL,
            severity TEXT NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            original_transaction_id TEXT,
            first_seen INTEGER NOT NULL,
            last_seen INTEGER NOT NULL,
            last_pass_id INTEGER NOT NULL,
            corrected_by INTEGER,
            state TEXT NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX trueup_findings_open ON trueup_findings (kind, severity, state)
            WHERE state IN ('new', 'open', 'recurring');
        CREATE INDEX trueup_findings_by_subscription ON trueup_findings (
            bundle_id, environment, original_transaction_id);
        CREATE INDEX trueup_findings_unresolved ON trueup_findings (finding_id)
            WHERE state IN ('new', 'open', 'recurring', 'acknowledged');

        -- Which jobs have reported a finding, each of which goes on reporting it.
        CREATE TABLE trueup_finding_jobs (
            finding_id TEXT NOT NULL,
            job TEXT NOT NULL,
            PRIMARY KEY (finding_id, job)
        ) WITHOUT ROWID;

        -- Runs that have ended and whose findings are not all entered in `trueup_findings` yet.
        -- `resolves`: what they looked for and did not find is closed there, too.
        CREATE TABLE trueup_unremembered_runs (
            run_seq INTEGER PRIMARY KEY,
            resolves INTEGER NOT NULL
        );

        -- Chained like the ledger and only added to.
        CREATE TABLE trueup_decisions (
            decision INTEGER PRIMARY KEY,
            previous_hash TEXT NOT NULL,
            hash TEXT NOT NULL,
            action TEXT NOT NULL,
            finding_id TEXT NOT NULL,
            content TEXT NOT NULL,
            reason TEXT NOT NULL,
            actor TEXT NOT NULL,
            decided_at INTEGER NOT NULL,
            until INTEGER
        );
        CREATE INDEX trueup_decisions_by_finding ON trueup_decisions (finding_id, decision);
        CREATE TRIGGER trueup_decisions_are_not_changed BEFORE UPDATE ON trueup_decisions
        BEGIN SELECT RAISE(ABORT, 'the ledger of decisions is only added to'); END;
        CREATE TRIGGER trueup_decisions_are_not_cut BEFORE DELETE ON trueup_decisions
        BEGIN SELECT RAISE(ABORT, 'the ledger of decisions is only added to'); END;
        CREATE TRIGGER trueup_decisions_are_continued BEFORE INSERT ON trueup_decisions
        WHEN NEW.decision <> 1 + ifnull((SELECT max(decision) FROM trueup_decisions), 0)
            OR NEW.previous_hash <> ifnull(
                (SELECT hash FROM trueup_decisions ORDER BY decision DESC LIMIT 1),
                '0000000000000000000000000000000000000000000000000000000000000000')
        BEGIN SELECT RAISE(ABORT, 'a decision continues the chain of the others'); END;
        """
}
