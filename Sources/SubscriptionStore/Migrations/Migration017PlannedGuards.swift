extension Migration {
    /// By which job file and which guards a run worked, so that a plan is applied under those of its
    /// own job, whatever has become of the file since.
    static let plannedGuards = Migration(
        number: 17,
        sql: """
            ALTER TABLE trueup_runs ADD COLUMN job_file TEXT;
            ALTER TABLE trueup_runs ADD COLUMN guards TEXT;
            """)
}
