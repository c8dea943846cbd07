extension Migration {
    /// What people decided about findings, chained like the ledger and only added to; and by which
    /// decision a run reported a finding as acknowledged.
    static let decisions = Migration(
        number: 16,
        sql: """
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

            ALTER TABLE trueup_run_findings ADD COLUMN decision INTEGER;
            """)
}
