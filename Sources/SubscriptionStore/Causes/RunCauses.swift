import Foundation
import GRDB
import Subscriptions

/// The clusters of causes that a run reports.
struct RunCauses {
    let db: Database

    /// How far back a cause is looked for in earlier runs.
    private static let daysBefore: Int64 = 7
    private static let day = Milliseconds.perDay

    /// Writes them, each with the number of days before on which a run found the same cause.
    func write(_ causes: [CauseCluster], of run: RunReference, started: Timestamp) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        for (position, cause) in causes.enumerated() {
            var cause = cause
            cause.earlierDays = try earlierDays(with: cause, before: run.sequence, started)
            let facts = String(decoding: try encoder.encode(cause), as: UTF8.self)
            try db.execute(
                sql: "INSERT INTO trueup_run_causes VALUES (?, ?, ?, ?, ?, ?)",
                arguments: [
                    run.sequence, position, cause.bundleID, cause.environment, cause.cause, facts,
                ])
        }
    }

    func read(of sequence: Int64) throws -> [CauseCluster] {
        let decoder = JSONDecoder()
        return try String.fetchAll(
            db, sql: "SELECT facts FROM trueup_run_causes WHERE run_seq = ? ORDER BY position",
            arguments: [sequence]
        ).map { facts in
            do {
                return try decoder.decode(CauseCluster.self, from: Data(facts.utf8))
            } catch {
                throw StoreError.inconsistent(
                    "The bookkeeping holds a cause that this version cannot read. Use the version "
                        + "that wrote it.")
            }
        }
    }

    /// UTC days of the week before on which a run that ended found the same cause.
    private func earlierDays(
        with cause: CauseCluster, before sequence: Int64, _ started: Timestamp
    ) throws -> Int {
        let today = started.unixMilliseconds / Self.day
        return try Int.fetchOne(
            db,
            sql: """
                SELECT count(DISTINCT r.started / \(Self.day)) FROM trueup_runs AS r
                JOIN trueup_run_causes AS c ON c.run_seq = r.run_seq
                WHERE r.run_seq < ? AND r.ended IS NOT NULL AND r.started >= ? AND r.started < ?
                    AND c.bundle_id = ? AND c.environment = ? AND c.cause = ?
                """,
            arguments: [
                sequence, (today - Self.daysBefore) * Self.day, today * Self.day, cause.bundleID,
                cause.environment, cause.cause,
            ]) ?? 0
    }
}
