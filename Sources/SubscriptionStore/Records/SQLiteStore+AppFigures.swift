import GRDB
package import Subscriptions

extension SQLiteStore {
    /// What is owed to some apps, and how old the oldest word about one of their rows is.
    ///
    /// - Parameter apps: Those that a run was for alone.
    /// - Returns: Subscriptions about which the next run must ask, and when Apple signed the oldest of
    ///   the statements by which rows were judged last.
    /// - Throws: `StoreError` when it cannot be read.
    package func owedAndOldestCheck(
        of apps: [AppIdentity]
    ) async throws(StoreError) -> (owed: Int, oldestCheck: Timestamp?) {
        try await read("counting what is owed to some apps") { db in
            var owed = 0
            var oldest: Int64?
            for app in Set(apps) {
                let arguments: StatementArguments = [app.bundleID, app.environment.rawValue]
                let count = try Int.fetchOne(
                    db,
                    sql: """
                        SELECT count(*) FROM trueup_agenda WHERE bundle_id = ? AND environment = ?
                        """, arguments: arguments)
                owed &+= count ?? 0
                let check = try Int64.fetchOne(
                    db,
                    sql: """
                        SELECT min(ifnull(signed_date, asked_at)) FROM trueup_checks
                        WHERE bundle_id = ? AND environment = ?
                        """, arguments: arguments)
                oldest = [oldest, check].compactMap(\.self).min()
            }
            return (owed, oldest.map(Timestamp.init(unixMilliseconds:)))
        }
    }
}
