import Reconciliation
import SubscriptionStore
import Subscriptions

/// Compares the stored rows with the configured apps: of other apps only a few rows are asked.
struct RowChecks {
    let apps: [AppIdentity]
    let jobs: [JobSettings]
    let settingsFile: String
    /// Whether the rows stand in a table of the company's own, which a run reads.
    var areCopied = false

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
            return [
                .ok(
                    "rows", nil,
                    areCopied
                        ? "none in the books yet; a run reads your table"
                        : "none yet; \"trueup import\" loads them")
            ]
        }
        let judged = table.filter { rows in apps.contains { rows.belong(to: $0) } }
        let strangers = all - judged.reduce(0) { $0 + $1.rows }
        let stopped = jobs.filter { $0.isStopped(byRowsOfNoApp: strangers, of: all) }
        return table.map { rows in
            let detail = "\(rows.rows) of \(all) rows are of \(rows.bundleID) \(rows.environment)"
            guard !apps.contains(where: { rows.belong(to: $0) }) else {
                return .ok("rows", nil, detail)
            }
            let fix =
                "add that app to apps in \(settingsFile), or correct its bundle_id or "
                + "environment there or in the rows"
            guard !judged.isEmpty else {
                // Such a run ends, too, but only once Apple has accepted the key.
                return .failed(
                    "rows", nil, detail + ", which is not configured; no row can be judged",
                    fix: fix, stopped.isEmpty ? .incomplete : .guarded)
            }
            guard !stopped.isEmpty else {
                return .warning(
                    "rows", nil,
                    detail + ", which is not configured; no guard stops a run for that",
                    fix: fix)
            }
            let names = stopped.map { "\($0.name) (\($0.guards.maxExcludedShare))" }
            return .failed(
                "rows", nil,
                detail
                    + ", which is not configured; \(strangers) such rows are more than the guard "
                    + "max_excluded_share allows: it stops \(names.joined(separator: ", "))",
                fix: fix, .guarded)
        }
    }
}

extension JobSettings {
    /// Whether the guard `max_excluded_share` stops a run for rows of no configured app alone.
    func isStopped(byRowsOfNoApp strangers: Int, of all: Int) -> Bool {
        guard mode == .apply, steps.contains(.walk) else { return false }
        return strangers >= max(1, guards.minChanges) && guards.maxExcludedShare < 1
            && Double(strangers) > guards.maxExcludedShare * Double(all)
    }
}
