package import ServerConnections
package import Subscriptions

/// The leases of all workers, in `trueup_leases`.
package final class MySQLLeases: LeaseTable {
    private let session: SharedSession<MySQLLink>
    private let holder: LeaseHolder

    /// - Parameters:
    ///   - session: Not that of whichever program writes rows.
    ///   - holder: Who asks.
    package init(_ session: SharedSession<MySQLLink>, _ holder: LeaseHolder) {
        self.session = session
        self.holder = holder
    }

    package func take(_ apps: [AppIdentity], job: String) throws(StoreError) -> [LeaseFence] {
        try session.withLink { link throws(StoreError) in
            try link.makeOurTables()
            // In one order, so that two workers do not wait for each other.
            let order = apps.sorted()
            return try link.write("taking the leases of a job") {
                session throws(MySQLFailure) in
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
    private func refuseCopies(_ session: any MySQLSession) throws(MySQLFailure) {
        // Of two that begin at once the second one waits here, and sees the first one's leases.
        _ = try session.run(
            """
            INSERT INTO \(OurTable.books.name) (books, place) VALUES (?, ?)
            ON DUPLICATE KEY UPDATE place = place
            """, [.text(holder.books), .text(holder.place)])
        let clock = try OurTable.clock(in: session)
        let other = try session.run(
            """
            SELECT place, holder, \(Self.since) FROM \(OurTable.leases.name)
            WHERE books = ? AND place <> ? AND expires_at > \(OurTable.time)
            ORDER BY taken_at, bundle_id LIMIT 1
            """,
            [.text(holder.books), .text(holder.place), .integer(clock.unixMilliseconds)]
        ).rows.first
        if let other, other.count == 3, let there = other[0] {
            throw MySQLFailure(
                .leased, words: holder.refusal(ofCopyBy: other[1], at: there, since: other[2]))
        }
        _ = try session.run(
            "UPDATE \(OurTable.books.name) SET place = ? WHERE books = ?",
            [.text(holder.place), .text(holder.books)])
    }

    private func take(
        _ app: AppIdentity, job: String, in session: any MySQLSession
    ) throws(MySQLFailure) -> LeaseFence {
        let key = LeaseFence(app: app, job: job, number: 0).key
        let held = try session.run(
            """
            SELECT books, holder, CAST(fence AS CHAR), \(Self.since),
                \(OurTable.milliseconds("expires_at"))
            FROM \(OurTable.leases.name) WHERE \(Self.condition) FOR UPDATE
            """, key
        ).rows.first
        // After the row is held: another worker may have kept it for a while.
        let clock = try OurTable.clock(in: session)
        let times: [CompanyLiteral] = [
            .integer(clock.unixMilliseconds),
            .integer(clock.unixMilliseconds + holder.lifetimeMilliseconds),
        ]
        let owner: [CompanyLiteral] = [
            .text(holder.books), .text(holder.place), .text(holder.name),
        ]
        guard let held, held.count == 5 else {
            do throws(MySQLFailure) {
                _ = try session.run(
                    """
                    INSERT INTO \(OurTable.leases.name) (bundle_id, environment, job, books, place,
                        holder, fence, taken_at, expires_at)
                    VALUES (?, ?, ?, ?, ?, ?, 1, \(OurTable.time), \(OurTable.time))
                    """, key + owner + times)
            } catch {
                guard error.meaning == .duplicate else { throw error }
                throw .again("another worker took the same lease")
            }
            return LeaseFence(app: app, job: job, number: 1)
        }
        let end = held[4].flatMap { Int64($0) } ?? 0
        guard held[0] == holder.books || end <= clock.unixMilliseconds else {
            throw MySQLFailure(
                .leased, words: LeaseFence.refusal(of: app, heldBy: held[1], since: held[3]))
        }
        let number = (held[2].flatMap { Int64($0) } ?? 0) + 1
        _ = try session.run(
            """
            UPDATE \(OurTable.leases.name) SET books = ?, place = ?, holder = ?, fence = ?,
                taken_at = \(OurTable.time), expires_at = \(OurTable.time)
            WHERE \(Self.condition)
            """, owner + [.integer(number)] + times + key)
        return LeaseFence(app: app, job: job, number: number)
    }

    package func renew(_ fences: [LeaseFence]) throws(StoreError) -> [LeaseFence] {
        try move(fences, doing: "renewing leases") { session throws(MySQLFailure) in
            try OurTable.clock(in: session).unixMilliseconds + self.holder.lifetimeMilliseconds
        }
    }

    /// The rows stay, because their numbers must never come again.
    package func giveBack(_ fences: [LeaseFence]) throws(StoreError) {
        _ = try move(fences, doing: "releasing leases") { _ throws(MySQLFailure) in 0 }
    }

    /// Changes the end of leases that still are held.
    ///
    /// - Returns: The others.
    private func move(
        _ fences: [LeaseFence], doing: String,
        to end: (any MySQLSession) throws(MySQLFailure) -> Int64
    ) throws(StoreError) -> [LeaseFence] {
        try session.write(doing) { session throws(MySQLFailure) in
            var lost: [LeaseFence] = []
            for fence in fences.sorted(by: { $0.app < $1.app }) {
                let moved = try session.run(
                    """
                    UPDATE \(OurTable.leases.name) SET expires_at = \(OurTable.time)
                    WHERE \(Self.condition) AND fence = ?
                    """,
                    [.integer(try end(session))] + fence.key + [.integer(fence.number)])
                if moved.affected == 0 { lost.append(fence) }
            }
            return lost
        }
    }

    fileprivate static let condition = "bundle_id = ? AND environment = ? AND job = ?"
    private static let since = "DATE_FORMAT(taken_at, '%Y-%m-%dT%H:%i:%sZ')"
}

extension LeaseFence {
    fileprivate var key: [CompanyLiteral] {
        [.text(app.bundleID), .text(app.environment.rawValue), .text(job)]
    }

    /// Whether the lease still is under this number; if so, no worker takes it before the transaction
    /// ends.
    func isHeld(in session: any MySQLSession) throws(MySQLFailure) -> Bool {
        try session.run(
            """
            SELECT 1 FROM \(OurTable.leases.name)
            WHERE \(MySQLLeases.condition) AND fence = ? LOCK IN SHARE MODE
            """, key + [.integer(number)]
        ).rows.count == 1
    }
}
