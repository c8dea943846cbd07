package import ServerConnections
package import Subscriptions

extension SharedCalls {
    /// - Parameter connector: Opens sessions; bookings need one of their own.
    package convenience init(_ connector: MySQLConnector) {
        self.init(MySQLLink(connector, limits: MySQLLimits()))
    }
}

/// The booked calls of one account, within a transaction.
package struct MySQLCallBooks: CallBooks {
    let session: any MySQLSession
    let account: QuotaAccount

    package func hold() throws(MySQLFailure) -> Timestamp {
        _ = try session.run(
            """
            INSERT INTO \(OurTable.refusals.name) (bundle_id, environment, endpoint)
            VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE endpoint = endpoint
            """, key)
        return try OurTable.clock(in: session)
    }

    package func refusal() throws(MySQLFailure) -> QuotaRefusal? {
        let row = try session.run(
            """
            SELECT \(OurTable.milliseconds("resumes_at")), CAST(rate_share AS CHAR)
            FROM \(OurTable.refusals.name) WHERE \(Self.condition)
            """, key
        ).rows.first
        guard let row, row.count == 2, let resumption = row[0].flatMap({ Int64($0) }),
            let share = row[1].flatMap({ Double($0) })
        else { return nil }
        return QuotaRefusal(
            resumesAt: Timestamp(unixMilliseconds: resumption), rateShare: share)
    }

    package func keep(_ refusal: QuotaRefusal, until end: Timestamp) throws(MySQLFailure) {
        _ = try session.run(
            """
            UPDATE \(OurTable.refusals.name) SET resumes_at = \(OurTable.time), rate_share = ?
            WHERE \(Self.condition)
            """, [.integer(end.unixMilliseconds), .text(String(refusal.rateShare))] + key)
    }

    package func used() throws(MySQLFailure) -> Int {
        let answer = try session.run(
            """
            SELECT CAST(COALESCE(SUM(calls), 0) AS CHAR) FROM \(OurTable.calls.name)
            WHERE \(Self.condition) AND second >= UNIX_TIMESTAMP() - ?
            """, key + [.integer(Self.countedSeconds)])
        return answer.first.flatMap { Int64($0) }.map { Int(clamping: max(0, $0)) } ?? 0
    }

    package func forget(
        before first: Int64, after last: Int64
    ) throws(MySQLFailure) -> [QuotaWindow.Bucket] {
        let all = try buckets()
        let forgotten = all.filter { $0.start < first || $0.start > last }
        guard !forgotten.isEmpty else { return [] }
        _ = try session.run(
            """
            DELETE FROM \(OurTable.calls.name)
            WHERE \(Self.condition) AND (second < ? OR second > ?)
            """, key + [.integer(first), .integer(last)])
        return forgotten
    }

    package func buckets() throws(MySQLFailure) -> [QuotaWindow.Bucket] {
        Self.buckets(
            try session.run(
                """
                SELECT CAST(second AS CHAR), CAST(calls AS CHAR) FROM \(OurTable.calls.name)
                WHERE \(Self.condition)
                """, key
            ).rows)
    }

    package func enter(_ calls: Int, at second: Int64) throws(MySQLFailure) {
        _ = try session.run(
            """
            INSERT INTO \(OurTable.calls.name) (bundle_id, environment, endpoint, second, calls)
            VALUES (?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE calls = calls + ?
            """, key + [.integer(second), .integer(Int64(calls)), .integer(Int64(calls))])
    }

    package func takeBack(_ unused: QuotaWindow.Bucket) throws(MySQLFailure) {
        _ = try session.run(
            """
            UPDATE \(OurTable.calls.name) SET calls = GREATEST(0, calls - ?)
            WHERE \(Self.condition) AND second = ?
            """, [.integer(Int64(unused.calls))] + key + [.integer(unused.start)])
    }

    private static let condition = "bundle_id = ? AND environment = ? AND endpoint = ?"

    private var key: [CompanyLiteral] {
        [
            .text(account.app.bundleID), .text(account.app.environment.rawValue),
            .text(account.endpoint),
        ]
    }
}
