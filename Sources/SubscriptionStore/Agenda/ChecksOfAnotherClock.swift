import GRDB
import Subscriptions

/// Dates what was asked under a clock that was ahead as asked before the run.
///
/// A time that is still to come would count as judged in every walk over the table that begins before
/// it. It is done before the run is recorded: what a killed process leaves, the next run does again.
struct ChecksOfAnotherClock: Sendable {
    let run: RunHeader

    private static let rowsPerChunk = 2000
    private static let key = "bundle_id, environment, original_transaction_id"
    private var began: Int64 { run.started.unixMilliseconds }

    /// Whether the clock went back since an earlier run, and something is dated after this one.
    ///
    /// A check notes nothing, and may be asked about a time that is long past.
    func isNeeded(_ db: Database) throws -> Bool {
        guard run.mode == .apply else { return false }
        return try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM trueup_runs WHERE started > ?1)
                    AND (EXISTS (SELECT 1 FROM trueup_checks WHERE asked_at > ?1)
                        OR EXISTS (SELECT 1 FROM trueup_rounds WHERE began > ?1))
                """, arguments: [began]) ?? false
    }

    /// Dates those of a chunk; returns the key with which the next one begins.
    func date(from start: StoredKey, _ db: Database) throws -> StoredKey? {
        try db.execute(
            sql: "UPDATE trueup_rounds SET began = ?1 WHERE began > ?1", arguments: [began])
        let found = try Row.fetchCursor(
            db,
            sql: """
                SELECT original_transaction_id, environment, bundle_id FROM trueup_checks
                WHERE (\(Self.key)) >= \(start.marks)
                ORDER BY \(Self.key) LIMIT 1 OFFSET \(Self.rowsPerChunk)
                """, arguments: start.arguments)
        let next = try found.next().map(StoredKey.init)
        try db.execute(
            sql: """
                UPDATE trueup_checks SET asked_at = ?
                WHERE (\(Self.key)) >= \(start.marks)
                    \(next.map { "AND (\(Self.key)) < \($0.marks)" } ?? "") AND asked_at > ?
                """,
            arguments: [began &- 1] + start.arguments + (next?.arguments ?? []) + [began])
        return next
    }
}
