package import Subscriptions
import Synchronization

/// The runs of all workers on a database, in a table of ours: a line a run.
///
/// So any worker can tell of a night of all. The proof of a run stays its own report. Calls block.
package final class SharedRuns: Sendable {
    private let session: SharedSession

    package init(_ session: SharedSession) { self.session = session }

    /// Makes the table, where it is not there.
    ///
    /// - Throws: `StoreError` where it cannot be made.
    package func prepare() throws(StoreError) {
        try session.keeper.withLock { keeper throws(StoreError) in try keeper.bringUpToDate() }
    }

    /// Whether the table is there and may be written, as it stands.
    ///
    /// - Returns: `false` before the first job that writes, and for a user who may only read.
    /// - Throws: `StoreError` when it cannot be learned.
    package func mayBeUsed() throws(StoreError) -> Bool {
        try session.keeper.withLock { keeper throws(StoreError) in
            try keeper.mayUse("runs", for: ["SELECT", "INSERT", "UPDATE", "DELETE"])
        }
    }

    /// Notes a run as it begins, and again with what it came to.
    ///
    /// - Parameter run: In place of what was noted of it before.
    /// - Throws: `StoreError` when it cannot be noted.
    package func keep(_ run: WorkerRun) throws(StoreError) {
        try session.keeper.withLock { keeper throws(StoreError) in
            try keeper.write("noting a run for all workers") { session throws(ServerFailure) in
                _ = try session.run(WorkerRunText.upsert, WorkerRunText.parameters(of: run))
            }
        }
    }

    /// Forgets runs of one worker's books.
    ///
    /// - Parameters:
    ///   - books: Whose.
    ///   - time: Those that began before it.
    /// - Throws: `StoreError` when they cannot be forgotten.
    package func forget(of books: String, before time: Timestamp) throws(StoreError) {
        try session.keeper.withLock { keeper throws(StoreError) in
            try keeper.write("forgetting runs") { session throws(ServerFailure) in
                _ = try session.run(
                    "DELETE FROM trueup.runs WHERE books = $1 AND started < \(WorkerRunText.time("$2"))",
                    [books, String(time.unixMilliseconds)])
            }
        }
    }

    /// The runs that began in a span of time, oldest first.
    ///
    /// - Parameters:
    ///   - first: The first moment.
    ///   - end: The moment after the last.
    /// - Returns: None where there is no table yet, or the user may not read it.
    /// - Throws: `StoreError` when they cannot be read.
    package func runs(
        from first: Timestamp, before end: Timestamp
    ) throws(StoreError) -> [WorkerRun] {
        try read(
            """
            SELECT \(WorkerRunText.columns) FROM trueup.runs AS r
            WHERE started >= \(WorkerRunText.time("$1")) AND started < \(WorkerRunText.time("$2"))
            ORDER BY started, books, run_id
            """, [String(first.unixMilliseconds), String(end.unixMilliseconds)])
    }

    /// The last run of each worker, job and set of apps, newest first.
    ///
    /// - Parameter limit: How many at most.
    /// - Returns: None where there is no table yet, or the user may not read it.
    /// - Throws: `StoreError` when they cannot be read.
    package func lastRuns(limit: Int) throws(StoreError) -> [WorkerRun] {
        try read(
            """
            SELECT \(WorkerRunText.columns) FROM (
                SELECT DISTINCT ON (books, job, apps) * FROM trueup.runs
                ORDER BY books, job, apps, started DESC) AS r
            ORDER BY started DESC, books, run_id LIMIT $1
            """, [String(limit)])
    }

    private func read(_ sql: String, _ parameters: [String?]) throws(StoreError) -> [WorkerRun] {
        try session.keeper.withLock { keeper throws(StoreError) in
            guard try keeper.mayUse("runs", for: ["SELECT"]) else { return [] }
            let rows = try keeper.read("reading the runs of all workers") {
                session throws(ServerFailure) in
                try session.run(sql, parameters).rows
            }
            return rows.compactMap(WorkerRunText.run)
        }
    }
}
