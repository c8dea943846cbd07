extension Migration {
    /// Whose subscription each checked row is, so that rows of one Apple Account are asked about once.
    static let accounts = Migration(
        number: 22,
        sql: """
            ALTER TABLE trueup_checks ADD COLUMN account INTEGER;
            ALTER TABLE trueup_pass_rows ADD COLUMN account INTEGER;
            """)
}
