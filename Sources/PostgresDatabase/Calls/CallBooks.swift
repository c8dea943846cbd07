import Subscriptions

/// The booked calls of one account, within a transaction.
struct CallBooks {
    let session: any ServerSession
    let account: QuotaAccount

    /// Keeps every other worker from reserving calls for this account until the transaction ends.
    ///
    /// - Returns: The server's clock then.
    func hold() throws(ServerFailure) -> Timestamp {
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

    /// The bucket in which a grant is entered: that in which its last call may be made.
    ///
    /// A grant is used within a bucket of the caller's clock, so for up to a bucket's length from
    /// now.
    static func bucket(ofGrantAt clock: Timestamp) -> Int64 {
        QuotaWindow.bucket(of: clock.adding(milliseconds: QuotaWindow.bucketSeconds * 1000))
    }

    /// Forgets what no longer counts, and reads the rest.
    ///
    /// What lies further than an hour in the future was booked before the server's clock was set
    /// back: it counts from now on.
    func window(at clock: Timestamp) throws(ServerFailure) -> QuotaWindow {
        let first = QuotaWindow.firstCounted(at: clock)
        let last = QuotaWindow.lastExpected(at: clock)
        let forgotten = try session.run(
            """
            DELETE FROM trueup.calls WHERE \(Self.condition) AND (second < $4 OR second > $5)
            RETURNING second, calls
            """, parameters + [String(first), String(last)])
        let misplaced = Self.buckets(forgotten).filter { $0.start > last }
            .reduce(0) { $0.addingReportingOverflow($1.calls).partialValue }
        if misplaced > 0 { try enter(misplaced, at: QuotaWindow.bucket(of: clock)) }
        let booked = try session.run(
            "SELECT second, calls FROM trueup.calls WHERE \(Self.condition)", parameters)
        return QuotaWindow(Self.buckets(booked), at: clock)
    }

    /// The 429 that still holds, whichever worker was answered it.
    func refusal(at clock: Timestamp) throws(ServerFailure) -> QuotaRefusal? {
        let row = try session.run(
            """
            SELECT round(extract(epoch FROM resumes_at) * 1000)::bigint, rate_share
            FROM trueup.refusals WHERE \(Self.condition)
            """, parameters
        ).rows.first
        guard let row, row.count == 2, let resumption = row[0].flatMap({ Int64($0) }),
            let share = row[1].flatMap({ Double($0) })
        else { return nil }
        let refusal = QuotaRefusal(
            resumesAt: Timestamp(unixMilliseconds: resumption), rateShare: share)
        return refusal.holds(at: clock) ? refusal : nil
    }

    /// Keeps a 429 in place of an earlier one.
    func keep(_ refusal: QuotaRefusal, forMilliseconds wait: Int64) throws(ServerFailure) {
        _ = try session.run(
            """
            INSERT INTO trueup.refusals (bundle_id, environment, endpoint, resumes_at, rate_share)
            VALUES ($1, $2, $3, clock_timestamp() + $4::bigint * interval '1 millisecond', $5)
            ON CONFLICT (bundle_id, environment, endpoint)
                DO UPDATE SET resumes_at = excluded.resumes_at, rate_share = excluded.rate_share
            """, parameters + [String(wait), String(refusal.rateShare)])
    }

    /// Counts the calls of the last hour without waiting, forgetting or moving any of them.
    func used() throws(ServerFailure) -> Int {
        let rows = try session.run(
            """
            SELECT coalesce(sum(calls), 0)::bigint FROM trueup.calls
            WHERE \(Self.condition) AND second >=
                (extract(epoch FROM clock_timestamp()))::bigint - $4::bigint
            """, parameters + [String(Self.countedSeconds)])
        return rows.first.flatMap { Int64($0) }.map { Int(clamping: max(0, $0)) } ?? 0
    }

    /// How far back a bucket counts, seen from any moment.
    private static let countedSeconds: Int64 = {
        let moment = Timestamp(unixMilliseconds: 0)
        return -QuotaWindow.firstCounted(at: moment)
    }()

    func enter(_ calls: Int, at second: Int64) throws(ServerFailure) {
        guard calls > 0 else { return }
        _ = try session.run(
            """
            INSERT INTO trueup.calls AS c (bundle_id, environment, endpoint, second, calls)
            VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (bundle_id, environment, endpoint, second)
                DO UPDATE SET calls = c.calls + excluded.calls
            """, parameters + [String(second), String(calls)])
    }

    /// Never below zero: the bucket may have been forgotten, or moved, since.
    func takeBack(_ unused: QuotaWindow.Bucket) throws(ServerFailure) {
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

    private static func buckets(_ rows: ServerRows) -> [QuotaWindow.Bucket] {
        rows.rows.compactMap { row in
            guard row.count == 2, let start = row[0].flatMap({ Int64($0) }),
                let calls = row[1].flatMap({ Int64($0) })
            else { return nil }
            return QuotaWindow.Bucket(
                start: start, calls: Int(clamping: min(max(0, calls), 1_000_000_000)))
        }
    }
}
