import GRDB
package import Subscriptions

/// What earlier runs noted about single subscriptions.
extension SQLiteStore {
    /// What is noted about these subscriptions, held or not; those without a note are left out.
    package func notes(
        about keys: [SubscriptionKey]
    ) async throws(StoreError) -> [SubscriptionKey: RowNotes] {
        try await read("reading what is noted about rows") { db in
            let statement = try db.cachedStatement(sql: Self.noted)
            var notes: [SubscriptionKey: RowNotes] = [:]
            for key in Set(keys) {
                // At its cursor: to copy the row costs more than to read it.
                let cursor = try Row.fetchCursor(statement, arguments: key.arguments)
                guard let row = try cursor.next() else { continue }
                let noted = try Self.notes(row, of: key, db)
                if noted != RowNotes() { notes[key] = noted }
            }
            return notes
        }
    }

    private static let noted = """
        SELECT a.first_day, a.last_day, a.distinct_days, h.revision, h.periods, h.periods_sha256,
            EXISTS (SELECT 1 FROM trueup_findings AS f
                WHERE f.bundle_id = s.bundle_id AND f.environment = s.environment
                    AND f.original_transaction_id = s.original_transaction_id
                    AND f.kind IN ('transaction_missing', 'transaction_unknown')
                    AND f.state IN ('new', 'open', 'recurring', 'acknowledged')),
            EXISTS (SELECT 1 FROM trueup_stand_ins AS i
                WHERE i.bundle_id = s.bundle_id AND i.environment = s.environment
                    AND i.true_original = s.original_transaction_id),
            \(CheckRecord.columns(of: "k")), \(PaidNeighbours.exist(beside: "k")),
            \(NewestStatements.date(of: "s", check: "k"))
        FROM (SELECT ? AS bundle_id, ? AS environment, ? AS original_transaction_id) AS s
        LEFT JOIN trueup_absences AS a ON a.bundle_id = s.bundle_id
            AND a.environment = s.environment
            AND a.original_transaction_id = s.original_transaction_id
        LEFT JOIN trueup_history_revisions AS h ON h.bundle_id = s.bundle_id
            AND h.environment = s.environment
            AND h.original_transaction_id = s.original_transaction_id
        LEFT JOIN trueup_checks AS k ON k.bundle_id = s.bundle_id
            AND k.environment = s.environment
            AND k.original_transaction_id = s.original_transaction_id
        """

    private static func notes(
        _ row: Row, of key: SubscriptionKey, _ db: Database
    ) throws -> RowNotes {
        var notes = RowNotes()
        if let day = row.text(at: 0), let days = row.number(at: 2) {
            notes.absence = AbsenceRecord(
                firstDay: day, lastDay: row.requiredText(at: 1), distinctDays: days)
        }
        if let revision = row.text(at: 3) {
            var mark = HistoryMark(revision: revision, periods: nil)
            if let periods = row.number(at: 4), let digest = row.text(at: 5) {
                mark.periods = PeriodsDigest(periods: periods, sha256: digest)
            }
            notes.history = mark
        }
        notes.hasOpenPeriods = row.number(at: 6) == 1
        if row.number(at: 7) == 1 { notes.standIns = try StandIns(db: db).rows(of: key) }
        notes.check = CheckRecord(row, at: 8)
        notes.newestStatement = row.time(at: 9 + CheckRecord.columns.count)
        if row.number(at: 8 + CheckRecord.columns.count) == 1 {
            let neighbours = PaidNeighbours(db: db)
            notes.neighbours = try neighbours.rows(beside: key)
            if !notes.neighbours.isEmpty {
                notes.isKnownOverlap = try neighbours.isKnownOverlap(key)
            }
        }
        return notes
    }

    /// Which of these rows the job's last run asked about in vain, for want of an answer.
    package func failedLastTime(
        among keys: [SubscriptionKey], before run: RunHeader
    ) async throws(StoreError) -> Set<SubscriptionKey> {
        try await read("reading which rows failed the last time") { db in
            let last = try Int64.fetchOne(
                db,
                sql: """
                    SELECT max(run_seq) FROM trueup_runs
                    WHERE job = ? AND run_id <> ? AND ended IS NOT NULL
                    """,
                arguments: [run.job, run.runID])
            guard let last else { return [] }
            let statement = try db.cachedStatement(
                sql: """
                    SELECT 1 FROM trueup_run_undecided WHERE run_seq = ? AND bundle_id = ?
                        AND environment = ? AND original_transaction_id = ?
                        AND reason = '\(UndecidedReason.unavailable.rawValue)'
                    """)
            return try Set(
                keys.filter { key in
                    try Int.fetchOne(statement, arguments: [last] + key.arguments) != nil
                })
        }
    }
}
