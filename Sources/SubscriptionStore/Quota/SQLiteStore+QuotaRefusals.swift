import GRDB
package import Subscriptions

/// The last 429 of each endpoint: while it holds no process books a call.
extension SQLiteStore {
    /// Keeps a 429 in place of an earlier one.
    ///
    /// - Parameters:
    ///   - refusal: Until when Apple wants no calls, and the rate afterwards.
    ///   - account: Whose calls.
    /// - Throws: When the database cannot be written.
    package func keepRefusal(
        _ refusal: QuotaRefusal, of account: QuotaAccount
    ) async throws(StoreError) {
        try await write("keeping a refusal for the quota") { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO trueup_quota_refusals VALUES (?, ?, ?, ?, ?)",
                arguments: account.arguments + [
                    refusal.resumesAt.unixMilliseconds, refusal.rateShare,
                ])
        }
    }

    /// The last 429 of each endpoint of an app, however long ago.
    ///
    /// - Parameter app: Whose.
    /// - Returns: By the endpoint's name.
    /// - Throws: When the database cannot be read.
    package func refusals(of app: AppIdentity) async throws(StoreError) -> [String: QuotaRefusal] {
        try await read("reading refusals for the quota") { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT endpoint, resumes_at, rate_share FROM trueup_quota_refusals
                    WHERE bundle_id = ? AND environment = ?
                    """, arguments: [app.bundleID, app.environment.rawValue])
            return rows.reduce(into: [:]) { refusals, row in
                let endpoint: String = row["endpoint"]
                refusals[endpoint] = QuotaRefusal(
                    resumesAt: Timestamp(unixMilliseconds: row["resumes_at"]),
                    rateShare: row["rate_share"])
            }
        }
    }
}
