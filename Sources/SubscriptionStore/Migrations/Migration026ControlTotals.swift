extension Migration {
    /// What the company's tables add up to before and after a run, and what was measured beside it.
    ///
    /// `trueup_runs.counted`: the tables as the run began, `control`: the control totals of its end,
    /// `measures`: delays of notifications and how hard Apple was asked; all as JSON.
    /// `trueup_pass_rows.our_status`, `apple_status`: 1 to 5, 0 for none of them; NULL where the row was
    /// not judged, or Apple states nothing about it. `apple_price` in milliunits of `apple_currency`.
    static let controlTotals = Migration(
        number: 26,
        sql: """
            ALTER TABLE trueup_runs ADD COLUMN counted TEXT;
            ALTER TABLE trueup_runs ADD COLUMN control TEXT;
            ALTER TABLE trueup_runs ADD COLUMN measures TEXT;
            ALTER TABLE trueup_pass_rows ADD COLUMN our_status INTEGER;
            ALTER TABLE trueup_pass_rows ADD COLUMN apple_status INTEGER;
            ALTER TABLE trueup_pass_rows ADD COLUMN apple_price INTEGER;
            ALTER TABLE trueup_pass_rows ADD COLUMN apple_currency TEXT;
            """)
}
