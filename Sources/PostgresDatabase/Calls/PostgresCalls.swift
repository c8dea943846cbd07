package import ServerConnections
package import Subscriptions

extension SharedCalls {
    /// - Parameters:
    ///   - connector: Opens sessions; bookings need one of their own.
    ///   - limits: How long a statement may take and wait.
    package convenience init(
        _ connector: PostgresConnector, limits: SessionLimits = SessionLimits()
    ) {
        self.init(SessionKeeper(connector, limits: limits))
    }
}

/// The booked calls of one account, within a transaction.
package struct PostgresCallBooks: CallBooks {
    let session: any ServerSession
    let account: QuotaAccount

    package func hold() throws(ServerFailure) -> Timestamp {
        let clock = try session.run(
            """
            SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
            FROM pg_advisory_xact_lock(hashtextextended($1, \(OurSchema.lock)))
            """,
            [
                "calls \(account.app.bundleID) \(account.app.environment.rawValue) "
                    + account.endpoint
            ])
        guard let milliseconds = clock.first.flatMap({ Int64($0) }) else {
            throw ServerFailure(state: SQLState("XX000"), words: "the server returned no time")
        }
        return Timestamp(unixMilliseconds: milliseconds)
    }

    package func forget(before first: Int64, after last: Int64) throws(ServerFailure)
        -> [QuotaWindow
        .Bucket]
    {
        Self.buckets(
            try session.run(
                """
                DELETE FROM trueup.calls WHERE \(Self.condition) AND (second < $4 OR second > $5)
                RETURNING second, calls
                """, parameters + [String(first), String(last)]
            ).rows)
    }

    package func buckets() throws(ServerFailure) -> [QuotaWindow.Bucket] {
        Self.buckets(
            try session.run(
                "SELECT second, calls FROM trueup.calls WHERE \(Self.condition)", parameters
            ).rows)
    }

    package func refusal() throws(ServerFailure) -> QuotaRefusal? {
        let row = try session.run(
            """
            SELECT round(extract(epoch FROM resumes_at) * 1000)::bigint, rate_share
            FROM trueup.refusals WHERE \(Self.condition)
            """, parameters
        ).rows.first
        guard let row, row.count == 2, let resumption = row[0].flatMap({ Int64($0) }),
            let share = row[1].flatMap({ Double($0) })
        else { return nil }
        return QuotaRefusal(
            resumesAt: Timestamp(unixMilliseconds: resumption), rateShare: share)
    }

    package func keep(_ refusal: QuotaRefusal, until end: Timestamp) throws(ServerFailure) {
        _ = try session.run(
            """
            INSERT INTO trueup.refusals (bundle_id, environment, endpoint, resumes_at, rate_share)
            VALUES ($1, $2, $3, to_timestamp($4::bigint / 1000.0), $5)
            ON CONFLICT (bundle_id, environment, endpoint)
                DO UPDATE SET resumes_at = excluded.resumes_at, rate_share = excluded.rate_share
            """, parameters + [String(end.unixMilliseconds), String(refusal.rateShare)])
    }

    package func used() throws(ServerFailure) -> Int {
        let rows = try session.run(
            """
            SELECT coalesce(sum(calls), 0)::bigint FROM trueup.calls
            WHERE \(Self.condition) AND second >=
                (extract(epoch FROM clock_timestamp()))::bigint - $4::bigint
            """, parameters + [String(Self.countedSeconds)])
        return rows.first.flatMap { Int64($0) }.map { Int(clamping: max(0, $0)) } ?? 0
    }

    package func enter(_ calls: Int, at second: Int64) throws(ServerFailure) {
        _ = try session.run(
            """
            INSERT INTO trueup.calls AS c (bundle_id, environment, endpoint, second, calls)
            VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (bundle_id, environment, endpoint, second)
                DO UPDATE SET calls = c.calls + excluded.calls
            """, parameters + [String(second), String(calls)])
    }

    package func takeBack(_ unused: QuotaWindow.Bucket) throws(ServerFailure) {
        _ = try session.run(
            """
            UPDATE trueup.calls SET calls = greatest(0, calls - $5::bigint)
            WHERE \(Self.condition) AND second = $4
            """, parameters + [String(unused.start), String(unused.calls)])
    }

    private static let condition = "bundle_id = $1 AND environment = $2 AND endpoint = $3"

    private var parameters: [String?] {
        [account.app.bundleID, account.app.environment.rawValue, account.endpoint]
    }
}
