extension Migration {
    /// What a run's report is rendered from again, whatever happened since.
    ///
    /// `found`: the findings by kind and the money of the run, as JSON; later reports show them, and
    /// the lists that they are counted from go with `retention`. `report_context`: what the report
    /// states beside the stored run, as text of the reports' own.
    static let renderings = Migration(
        number: 23,
        sql: """
            ALTER TABLE trueup_runs ADD COLUMN found TEXT;
            ALTER TABLE trueup_runs ADD COLUMN report_context TEXT;
            """)
}
