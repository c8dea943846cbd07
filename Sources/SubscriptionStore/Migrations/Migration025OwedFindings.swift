extension Migration {
    /// Finds the findings of a pass that it repeats because no published report has shown them.
    static let owedFindings = Migration(
        number: 25,
        sql: """
            CREATE INDEX trueup_pass_findings_owed ON trueup_pass_findings (pass_id, finding_id)
                WHERE is_carried = 2;
            """)
}
