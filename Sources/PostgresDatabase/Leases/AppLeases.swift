package import ServerConnections
package import Subscriptions

/// The leases of all workers, in `trueup.leases`.
package final class AppLeases: LeaseTable {
    private let session: SharedSession<SessionKeeper>
    private let holder: LeaseHolder

    /// - Parameters:
    ///   - session: Not that of whichever program writes rows.
    ///   - holder: Who asks.
    package init(_ session: SharedSession<SessionKeeper>, _ holder: LeaseHolder) {
        self.session = session
        self.holder = holder
    }

    package func take(_ apps: [AppIdentity], job: String) throws(StoreError) -> [LeaseFence] {
        try session.withLink { keeper throws(StoreError) in
            try keeper.makeOurTables()
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
            [holder.books, String(OurSchema.lock)])
        let other = try session.run(
            """
            SELECT place, holder, to_char(taken_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
            FROM trueup.leases
            WHERE books = $1 AND place <> $2 AND expires_at > clock_timestamp()
            ORDER BY taken_at, bundle_id LIMIT 1
            """, [holder.books, holder.place]
        ).rows.first
        guard let other, other.count == 3, let there = other[0] else { return }
        throw ServerFailure(
            state: .leased,
            words: holder.refusal(ofCopyBy: other[1], at: there, since: other[2]))
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
                app.bundleID, app.environment.rawValue, job, holder.name,
                String(holder.lifetimeMilliseconds), holder.books, holder.place,
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
        throw ServerFailure(
            state: .leased,
            words: LeaseFence.refusal(
                of: app, heldBy: held?.first ?? nil, since: held?.last ?? nil))
    }

    package func renew(_ fences: [LeaseFence]) throws(StoreError) -> [LeaseFence] {
        try session.write("renewing leases") { session throws(ServerFailure) in
            var lost: [LeaseFence] = []
            for fence in fences.sorted(by: { $0.app < $1.app }) {
                let renewed = try session.run(
                    """
                    UPDATE trueup.leases SET expires_at = \(Self.end)
                    WHERE bundle_id = $1 AND environment = $2 AND job = $3 AND fence = $4
                    """,
                    [
                        fence.app.bundleID, fence.app.environment.rawValue, fence.job,
                        String(fence.number), String(self.holder.lifetimeMilliseconds),
                    ])
                if renewed.affected == 0 { lost.append(fence) }
            }
            return lost
        }
    }

    package func giveBack(_ fences: [LeaseFence]) throws(StoreError) {
        try session.write("releasing leases") { session throws(ServerFailure) in
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

    private static let end = "clock_timestamp() + $5::bigint * interval '1 millisecond'"
}

extension LeaseFence {
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
}
