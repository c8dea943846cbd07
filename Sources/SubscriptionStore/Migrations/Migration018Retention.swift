extension Migration {
    /// When the lists of a run's report were deleted because their retention had passed.
    static let retention = Migration(
        number: 18,
        sql: """
            ALTER TABLE trueup_runs ADD COLUMN lists_deleted_at INTEGER;
            """)
}
