import GRDB
import Subscriptions

/// Which entries of the ledger the reports of runs have shown.
struct ReportedEntries {
    let db: Database

    /// Entries with the runs that showed them, as a source to select from: `entry`, `run_id`.
    static let source = """
        (SELECT x.entry, s.run_id FROM trueup_reported_ranges AS s
            JOIN trueup_ledger AS x ON x.entry BETWEEN s.first_entry AND s.last_entry)
        """

    /// The newest entry that a report has shown; 0 for none.
    func last() throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT max(last_entry) FROM trueup_reported_ranges") ?? 0
    }

    /// Assigns every entry that no report has shown to this run.
    ///
    /// A run takes all of them, and gives back only those of the run before it, so unreported
    /// entries are always at the end of the ledger.
    func showRest(byRun runID: String) throws {
        try db.execute(
            sql: """
                INSERT INTO trueup_reported_ranges
                SELECT ?, min(entry), max(entry) FROM trueup_ledger WHERE entry > ?
                HAVING count(*) > 0
                """,
            arguments: [runID, try last()])
    }

    /// Notes that the report of a run shows an entry, the next one behind those noted before.
    func noteShown(_ entry: Int64, byRun runID: String) throws {
        try db.cachedStatement(
            sql: """
                UPDATE trueup_reported_ranges SET last_entry = ?2
                WHERE run_id = ?1 AND last_entry = ?2 - 1
                """
        ).execute(arguments: [runID, entry])
        guard db.changesCount == 0 else { return }
        try db.cachedStatement(
            sql: "INSERT OR IGNORE INTO trueup_reported_ranges VALUES (?1, ?2, ?2)"
        ).execute(arguments: [runID, entry])
    }

    /// Assigns one entry to this run alone, and removes it from a run that had it alone.
    func show(_ entry: Int64, byRun runID: String) throws {
        try db.execute(
            sql: "DELETE FROM trueup_reported_ranges WHERE first_entry = ?1 AND last_entry = ?1",
            arguments: [entry])
        try db.execute(
            sql: "INSERT INTO trueup_reported_ranges VALUES (?, ?, ?)",
            arguments: [runID, entry, entry])
    }

    /// Releases the entries of runs whose reports were never published.
    func takeUpUnpublished(except runID: String) throws {
        try db.execute(
            sql: """
                DELETE FROM trueup_reported_ranges WHERE run_id IN (
                    SELECT run_id FROM trueup_awaited_reports WHERE run_id <> ?)
                """,
            arguments: [runID])
    }

    /// Forgets the unpublished runs, whose entries and findings another run has taken over.
    ///
    /// - Parameters:
    ///   - runID: The run that took them over.
    ///   - judgedRows: Whether it took over findings, too. Otherwise only those are forgotten that
    ///     worked off a plan or took a run back.
    /// - Throws: An error of the database.
    func forgetUnpublished(except runID: String, judgedRows: Bool) throws {
        let forgotten = try String.fetchAll(
            db,
            sql: """
                DELETE FROM trueup_awaited_reports WHERE run_id <> ?1
                    AND (?2 OR run_id IN (SELECT r.run_id FROM trueup_runs AS r
                        JOIN trueup_applications AS u ON u.pass_id = r.pass_id))
                RETURNING run_id
                """, arguments: [runID, judgedRows])
        for run in forgotten {
            try noteMissing(reportOf: run, because: "the process was ended before it stood")
        }
    }

    /// The end of a run that left no report: none that ended comes to this by itself.
    static let endWithoutReport = ExitStatus.output

    /// Notes that an ended run left no report, so that nobody is told that all was well.
    ///
    /// - Parameters:
    ///   - runID: The run; one that did not end, or is noted already, stays as it is.
    ///   - reason: As a part of a sentence.
    /// - Throws: An error of the database.
    func noteMissing(reportOf runID: String, because reason: String) throws {
        let end = Self.endWithoutReport
        let message =
            "The report of this run was not written (exit status \(end.code)): \(reason). The next "
            + "report shows its corrections and what it found."
        try db.execute(
            sql: """
                UPDATE trueup_runs SET exit_status = ?1,
                    statuses = ?1 || iif(statuses = '', '', char(10) || statuses),
                    messages = ?2 || iif(messages = '', '', char(10) || messages)
                WHERE run_id = ?3 AND ended IS NOT NULL AND exit_status <> ?1
                """,
            arguments: [end.rawValue, TextList.encode([message]), runID])
    }
}
