import GRDB
package import Subscriptions

/// Finds bookkeeping that is past its retention, and deletes it a little at a time.
///
/// Rows, ledger, evidence, what reports have shown of the ledger, runs with their totals, and where
/// each finding is from run to run are no bookkeeping in this sense: they stay.
struct Retention: Sendable {
    let limit: Timestamp
    let now: Timestamp

    /// Apple shows a notification for 180 days; until then it must be known that it was reported.
    private static let notificationDays: Int64 = 190

    /// Notifications that are too old, a chunk.
    func oldNotifications(_ db: Database) throws -> [String] {
        let shown = now.adding(milliseconds: -Self.notificationDays * Milliseconds.perDay)
        return try String.fetchAll(
            db,
            sql: """
                SELECT notification_uuid FROM trueup_notifications
                WHERE max(ifnull(signed_date, 0), ifnull(received_at, 0),
                    ifnull(recovered_at, 0)) < ?
                LIMIT \(StoreLimits.rowsPerChunk)
                """,
            arguments: [min(limit, shown).unixMilliseconds])
    }

    /// Events that were delivered, or can no longer be delivered because their message was erased.
    func oldDeliveredEvents(_ db: Database) throws -> [Int64] {
        try Int64.fetchAll(
            db,
            sql: """
                SELECT ledger_entry FROM trueup_outbox
                WHERE told_at < ?1 OR (body IS NULL AND given_up_at < ?1)
                LIMIT \(StoreLimits.rowsPerChunk)
                """,
            arguments: [limit.unixMilliseconds])
    }

    /// A run whose lists are too old: its checkpoint is over, its report is out, and it is not the
    /// newest that ended.
    func oldRun(_ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db,
            sql: """
                SELECT r.run_seq FROM trueup_runs AS r
                JOIN trueup_passes AS p ON p.pass_id = r.pass_id
                WHERE r.lists_deleted_at IS NULL AND r.ended < ? AND p.state = 'purged'
                    AND r.run_seq < (SELECT max(run_seq) FROM trueup_runs WHERE ended IS NOT NULL)
                    AND NOT EXISTS (SELECT 1 FROM trueup_awaited_reports AS a
                        WHERE a.run_id = r.run_id)
                ORDER BY r.run_seq LIMIT 1
                """,
            arguments: [limit.unixMilliseconds])
    }

    /// Deletes a chunk of what a run listed; whether there is more.
    func deleteLists(ofRun sequence: Int64, _ db: Database) throws -> Bool {
        for (table, key) in Self.listsOfRuns
        where try Self.deleteSome(of: table, key, sequence, db) {
            return true
        }
        if try EntitlementChanges(db: db).deleteSome(ofRun: sequence) { return true }
        if try UnownedList.deleteLines(goneBy: sequence, db) { return true }
        if try deletePassLists(ofRun: sequence, db) { return true }
        try db.execute(
            sql: "UPDATE trueup_runs SET lists_deleted_at = ? WHERE run_seq = ?",
            arguments: [now.unixMilliseconds, sequence])
        return false
    }

    /// Deletes the lists that the reports of a checkpoint share, with the last of its runs; a
    /// finding that stays open keeps its details.
    private func deletePassLists(ofRun sequence: Int64, _ db: Database) throws -> Bool {
        let passID = try Int64.fetchOne(
            db,
            sql: """
                SELECT r.pass_id FROM trueup_runs AS r WHERE r.run_seq = ?1
                    AND NOT EXISTS (SELECT 1 FROM trueup_runs AS o
                        WHERE o.pass_id = r.pass_id AND o.run_seq <> ?1
                            AND o.ended IS NOT NULL AND o.lists_deleted_at IS NULL)
                """,
            arguments: [sequence])
        guard let passID else { return false }
        let isClosed = """
            NOT EXISTS (SELECT 1 FROM trueup_findings AS h
                WHERE h.finding_id = trueup_pass_findings.finding_id
                    AND h.last_pass_id = trueup_pass_findings.pass_id
                    AND h.state IN ('new', 'open', 'recurring', 'acknowledged'))
            """
        let steps = [
            ("trueup_pass_findings", "finding_seq", isClosed),
            ("trueup_pass_corrections", "correction_id", "1"),
        ]
        for (table, key, condition) in steps {
            try db.execute(
                sql: """
                    DELETE FROM \(table) WHERE \(key) IN (
                        SELECT \(key) FROM \(table) WHERE pass_id = ? AND \(condition)
                        LIMIT \(StoreLimits.correctionsPerChunk))
                    """,
                arguments: [passID])
            if db.changesCount > 0 { return true }
        }
        return try Self.deleteSome(
            of: "trueup_pass_notifications", "pass_id, bundle_id, environment, notification_uuid",
            passID, db)
    }
}

/// The lists of a run for its report, in tables of their own, and how they are deleted.
extension Retention {
    /// Each table and its key, the run first.
    static let listsOfRuns = [
        ("trueup_run_undecided", "run_seq, bundle_id, environment, original_transaction_id"),
        ("trueup_run_in_flight", "run_seq, bundle_id, environment, original_transaction_id"),
        ("trueup_run_not_found", "run_seq, bundle_id, environment, original_transaction_id"),
        ("trueup_run_findings", "run_seq, finding_seq"),
        ("trueup_run_finding_causes", "run_seq, finding_seq"),
    ]

    /// Deletes the first rows at a number, by their whole key; whether there were any.
    static func deleteSome(
        of table: String, _ key: String, _ number: Int64, _ db: Database
    ) throws -> Bool {
        let columns = key.split(separator: ", ")
        let found = try Row.fetchAll(
            db,
            sql: """
                SELECT \(key) FROM \(table) WHERE \(columns[0]) = ?
                LIMIT \(StoreLimits.correctionsPerChunk)
                """,
            arguments: [number])
        let isRow = columns.map { "\($0) = ?" }.joined(separator: " AND ")
        let delete = try db.cachedStatement(sql: "DELETE FROM \(table) WHERE \(isRow)")
        for row in found { try delete.execute(arguments: StatementArguments(row.databaseValues)) }
        return !found.isEmpty
    }

    /// A run that listed something and never ended: it was killed.
    static func unended(in table: String, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db,
            sql: """
                SELECT r.run_seq FROM trueup_runs AS r WHERE r.ended IS NULL
                    AND EXISTS (SELECT 1 FROM \(table) AS l WHERE l.run_seq = r.run_seq)
                LIMIT 1
                """)
    }
}

extension SQLiteStore {
    /// Deletes bookkeeping that is older than a moment, in small transactions: inbox notifications,
    /// delivered events, and what reports of earlier runs listed.
    ///
    /// What is still pending or stays open is kept, and so is all that `verify` and `undo` rest on.
    ///
    /// - Returns: how many notifications, events and runs were cleared.
    package func expireBookkeeping(
        before limit: Timestamp, at now: Timestamp
    ) async throws(StoreError) -> Int {
        let doing = "clearing bookkeeping past its retention"
        let retention = Retention(limit: limit, now: now)
        var cleared = try await clear(
            "DELETE FROM trueup_notifications WHERE notification_uuid = ?", doing,
            retention.oldNotifications)
        cleared += try await clear(
            "DELETE FROM trueup_outbox WHERE ledger_entry = ?", doing, retention.oldDeliveredEvents)
        while let run = try await read(doing, retention.oldRun) {
            while try await write(doing, { db in try retention.deleteLists(ofRun: run, db) }) {}
            cleared += 1
        }
        return cleared
    }

    /// Deletes rows by their keys, a chunk at a time, until none is left to delete.
    ///
    /// - Returns: How many there were.
    private func clear<Key: DatabaseValueConvertible & Sendable>(
        _ delete: String, _ doing: String,
        _ chunk: @escaping @Sendable (Database) throws -> [Key]
    ) async throws(StoreError) -> Int {
        var cleared = 0
        while true {
            let keys = try await read(doing, chunk)
            guard !keys.isEmpty else { return cleared }
            try await write(doing) { db in
                for key in keys { try db.executeCached(delete, [key]) }
            }
            cleared += keys.count
        }
    }
}

extension BookkeepingCount {
    /// Rows and age of each kind that retention clears.
    static func all(_ db: Database) throws -> [BookkeepingCount] {
        func startOfRun(of table: String) -> String {
            """
            SELECT started FROM trueup_runs WHERE run_seq = (SELECT min(run_seq) FROM \(table))
            """
        }
        let kinds = [
            (
                "pass rows", "trueup_pass_rows",
                """
                SELECT began FROM trueup_passes WHERE pass_id = (
                    SELECT min(pass_id) FROM trueup_pass_rows)
                """
            ),
            ("run findings", "trueup_run_findings", startOfRun(of: "trueup_run_findings")),
            ("undecided", "trueup_run_undecided", startOfRun(of: "trueup_run_undecided")),
            (
                "notifications", "trueup_notifications",
                "SELECT min(coalesce(signed_date, received_at)) FROM trueup_notifications"
            ),
            (
                "told events", "trueup_outbox WHERE told_at IS NOT NULL",
                "SELECT min(told_at) FROM trueup_outbox"
            ),
        ]
        return try kinds.map { name, rows, oldest in
            BookkeepingCount(
                kind: name, rows: try db.count("SELECT count(*) FROM \(rows)"),
                oldest: try Int64.fetchOne(db, sql: oldest).map(Timestamp.init(unixMilliseconds:)))
        }
    }
}
