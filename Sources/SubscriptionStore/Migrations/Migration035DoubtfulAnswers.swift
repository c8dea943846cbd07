extension Migration {
    /// Which judgements rest on an answer that may be wrong once, and when their questions come again.
    ///
    /// `trueup_pass_rows.is_doubtful`: such a judgement. `trueup_agenda.doubts`: how many runs in a row
    /// ended with one. `trueup_agenda.not_before`: the question rests until then; `NULL` where the next
    /// run asks it. Open findings of earlier versions left the agenda with their first answer: the next
    /// run asks about their rows once more.
    static let doubtfulAnswers = Migration(
        number: 35,
        sql: """
            ALTER TABLE trueup_pass_rows ADD COLUMN is_doubtful INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE trueup_agenda ADD COLUMN doubts INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE trueup_agenda ADD COLUMN not_before INTEGER;
            CREATE INDEX trueup_agenda_resting ON trueup_agenda (not_before)
                WHERE not_before IS NOT NULL;
            INSERT OR IGNORE INTO trueup_agenda (
                    bundle_id, environment, original_transaction_id, reason, turn, since)
                SELECT DISTINCT s.bundle_id, s.environment, s.original_transaction_id, 1, 2,
                    h.last_seen
                FROM trueup_findings AS h
                JOIN subscriptions AS s ON s.bundle_id = h.bundle_id
                    AND s.environment = h.environment
                    AND s.original_transaction_id = h.original_transaction_id
                WHERE h.state IN ('new', 'open', 'recurring', 'acknowledged')
                    AND h.kind IN ('not_found', 'account_not_found', 'invalid_id',
                        'wrong_environment', 'wrong_app', 'verification_failed', 'contradiction');
            """)
}
