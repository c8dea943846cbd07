import SubscriptionStore
import Subscriptions

/// The stored rows against the configured apps: a row of another app is never asked about.
struct RowChecks {
    let apps: [AppIdentity]
    let settingsFile: String

    /// One line for each app and environment that the rows name.
    func all(of store: SQLiteStore) async -> [Diagnosis] {
        let table: [AppRows]
        do {
            table = try await store.rowsByApp()
        } catch {
            return [.failed("rows", nil, error)]
        }
        let all = table.reduce(0) { $0 + $1.rows }
        guard all > 0 else {
            return [.ok("rows", nil, "none yet; \"trueup import\" loads them")]
        }
        let judged = table.filter { rows in apps.contains { rows.belong(to: $0) } }
        return table.map { rows in
            let detail = "\(rows.rows) of \(all) rows are of \(rows.bundleID) \(rows.environment)"
            guard !apps.contains(where: { rows.belong(to: $0) }) else {
                return .ok("rows", nil, detail)
            }
            let fix =
                "add that app to apps in \(settingsFile), or correct its bundle_id or "
                + "environment there or in the rows"
            guard judged.isEmpty else {
                return .warning("rows", nil, detail + ", which is not configured", fix: fix)
            }
            return .failed(
                "rows", nil, detail + ", which is not configured; no row can be judged", fix: fix,
                .config)
        }
    }
}
