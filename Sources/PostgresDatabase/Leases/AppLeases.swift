package import Subscriptions
import Synchronization

/// Which worker works on which app, in a table of the company's database.
///
/// A lease is for one app and one job, and lasts as long as its holder says so again and again.
/// Every holder has a higher number than the one before; a transaction that writes rows holds the
/// lease under its number, so a worker that comes back from a long pause finds that it may write no
/// more. Times are the server's: clocks of workers do not count.
package final class AppLeases: Sendable {
    private let session: SharedSession
    private let books: String
    private let holder: String
    private let place: String
    private let lifetimeMilliseconds: Int64

    /// - Parameters:
    ///   - session: Not that of whichever program writes rows.
    ///   - books: The identity of the worker's books: only one run at a time works with them, so a
    ///     lease that they hold already is that of a run that died.
    ///   - holder: Who works, for a caller that is refused.
    ///   - place: Machine and file of the books: a run that has them elsewhere has a copy of them.
    ///   - lifetimeMilliseconds: How long a worker may not be heard of.
    package init(
        _ session: SharedSession, books: String, holder: String, place: String,
        lifetimeMilliseconds: Int64 = AppLeases.lifetimeMilliseconds
    ) {
        self.session = session
        self.books = books
        self.holder = holder
        self.place = place
        self.lifetimeMilliseconds = lifetimeMilliseconds
    }

    /// Longer than a fail-over, shorter than people wait for a dead worker.
    package static let lifetimeMilliseconds: Int64 = 90_000

    /// Takes the leases of a job on some apps: all, or none.
    ///
    /// - Parameters:
    ///   - apps: Each once.
    ///   - job: Its name.
    /// - Returns: One fence for each app.
    /// - Throws: `StoreError.busy`, naming the holder, where one of them is held.
    package func take(_ apps: [AppIdentity], job: String) throws(StoreError) -> [LeaseFence] {
        try session.keeper.withLock { keeper throws(StoreError) in
            try keeper.bringUpToDate()
            // In one order, so that two workers do not wait for each other.
            let order = apps.sorted()
            return try keeper.write("taking the leases of a job") {
                session throws(ServerFailure) in
                try self.refuseCopies(session)
                var fences: [LeaseFence] = []
                for app in order {
                    fences.append(try self.take(app, job: job, in: session))
                }
                return fences
            }
        }
    }

    /// Two runs with copies of the same books would each number their corrections alike.
    ///
    /// Books that were moved are at one place only, and a run of theirs that was killed at the
    /// other place holds its leases no longer than these last.
    private func refuseCopies(_ session: any ServerSession) throws(ServerFailure) {
        // Of two that begin at once the second one sees the first one's leases.
        _ = try session.run(
            "SELECT pg_advisory_xact_lock(hashtextextended($1, $2))",
            [books, String(OurSchema.lock)])
        let other = try session.run(
            """
            SELECT place, holder, to_char(taken_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
            FROM trueup.leases
            WHERE books = $1 AND place <> $2 AND expires_at > clock_timestamp()
            ORDER BY taken_at, bundle_id LIMIT 1
            """, [books, place]
        ).rows.first
        guard let other, other.count == 3, let there = other[0] else { return }
        throw ServerFailure(
            state: .leased,
            words: "\(other[1] ?? "a run") uses trueup's database at \(there) since "
                + "\(other[2] ?? "just now"), and the one at \(place) is a copy of it. Each worker "
                + "needs a database of its own: if both are workers, name a new file in `store.books` of "
                + "one, and run `trueup init` there")
    }

    private func take(
        _ app: AppIdentity, job: String, in session: any ServerSession
    ) throws(ServerFailure) -> LeaseFence {
        let taken = try session.run(
            """
            INSERT INTO trueup.leases AS l
                (bundle_id, environment, job, books, place, holder, fence, taken_at, expires_at)
            VALUES ($1, $2, $3, $6, $7, $4, 1, clock_timestamp(), \(Self.end))
            ON CONFLICT (bundle_id, environment, job) DO UPDATE SET books = excluded.books,
                place = excluded.place, holder = excluded.holder, fence = l.fence + 1, taken_at = excluded.taken_at,
                expires_at = excluded.expires_at
            WHERE l.expires_at <= clock_timestamp() OR l.books = excluded.books
            RETURNING fence
            """,
            [
                app.bundleID, app.environment.rawValue, job, holder,
                String(lifetimeMilliseconds), books, place,
            ])
        if let number = taken.first.flatMap({ Int64($0) }) {
            return LeaseFence(app: app, job: job, number: number)
        }
        let held = try session.run(
            """
            SELECT holder, to_char(taken_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') FROM trueup.leases
            WHERE bundle_id = $1 AND environment = $2 AND job = $3
            """, [app.bundleID, app.environment.rawValue, job]
        ).rows.first
        let who = (held?.first ?? nil) ?? "another worker"
        let since = (held?.last ?? nil) ?? "just now"
        throw ServerFailure(
            state: .leased,
            words: "\(app.bundleID) (\(app.environment.rawValue)) is held by \(who) since \(since)")
    }

    /// Says that the holder is still at work.
    ///
    /// - Parameter fences: What it holds.
    /// - Returns: Those that another has adopted meanwhile.
    /// - Throws: `StoreError` when it cannot be said.
    package func renew(_ fences: [LeaseFence]) throws(StoreError) -> [LeaseFence] {
        try session.keeper.withLock { keeper throws(StoreError) in
            try keeper.write("renewing leases") { session throws(ServerFailure) in
                var lost: [LeaseFence] = []
                for fence in fences.sorted(by: { $0.app < $1.app }) {
                    let renewed = try session.run(
                        """
                        UPDATE trueup.leases SET expires_at = \(Self.end)
                        WHERE bundle_id = $1 AND environment = $2 AND job = $3 AND fence = $4
                        """,
                        [
                            fence.app.bundleID, fence.app.environment.rawValue, fence.job,
                            String(fence.number), String(self.lifetimeMilliseconds),
                        ])
                    if renewed.affected == 0 { lost.append(fence) }
                }
                return lost
            }
        }
    }

    /// Gives leases back, so that the next worker need not wait for their end.
    ///
    /// - Parameter fences: What is held; what another has adopted stays with it.
    /// - Throws: `StoreError` when it cannot be said; then they end by themselves.
    package func giveBack(_ fences: [LeaseFence]) throws(StoreError) {
        try session.keeper.withLock { keeper throws(StoreError) in
            try keeper.write("releasing leases") { session throws(ServerFailure) in
                for fence in fences.sorted(by: { $0.app < $1.app }) {
                    // The row stays, because its number must never come again.
                    _ = try session.run(
                        """
                        UPDATE trueup.leases SET expires_at = '-infinity'
                        WHERE bundle_id = $1 AND environment = $2 AND job = $3 AND fence = $4
                        """,
                        [
                            fence.app.bundleID, fence.app.environment.rawValue, fence.job,
                            String(fence.number),
                        ])
                }
            }
        }
    }

    private static let end = "clock_timestamp() + $5::bigint * interval '1 millisecond'"
}

/// A lease as its holder knows it: the work of one job on one app, with the number that fences it.
package struct LeaseFence: Hashable, Sendable {
    package var app: AppIdentity
    package var job: String
    /// Rises with every holder; a worker with a smaller one may write no more.
    package var number: Int64

    package init(app: AppIdentity, job: String, number: Int64) {
        self.app = app
        self.job = job
        self.number = number
    }

    /// Whether the lease still is under this number; if so, no worker takes it before the transaction
    /// ends.
    func isHeld(in session: any ServerSession) throws(ServerFailure) -> Bool {
        try session.run(
            """
            SELECT 1 FROM trueup.leases
            WHERE bundle_id = $1 AND environment = $2 AND job = $3 AND fence = $4 FOR SHARE
            """, [app.bundleID, app.environment.rawValue, job, String(number)]
        ).rows.count == 1
    }

    var description: String { "\(app.bundleID) (\(app.environment.rawValue))" }
}
