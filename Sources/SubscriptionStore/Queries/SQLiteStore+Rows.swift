import GRDB
package import Subscriptions

extension SQLiteStore {
    package func rows(
        after key: SubscriptionKey?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [ScopedRow] {
        let position: StoredKey? =
            if let key { await unspeakableKeys.stored(as: key) } else { nil }
        let page = try await read("reading rows to judge") { db in
            try ScopedRows(db: db).page(after: position, limit: limit, passID: pass.passID)
        }
        if !page.unspeakable.isEmpty { await unspeakableKeys.add(page.unspeakable) }
        return page.rows
    }

    package func rowsByApp() async throws(StoreError) -> [AppRows] {
        try await read("counting the rows of each app") { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT bundle_id, environment, count(*) FROM subscriptions
                    GROUP BY bundle_id, environment ORDER BY bundle_id, environment
                    """
            ).map { row in
                AppRows(
                    bundleID: row.requiredText(at: 0), environment: row.requiredText(at: 1),
                    rows: row.number(at: 2) ?? 0)
            }
        }
    }

    package func rows(
        holding originalTransactionIDs: [String]
    ) async throws(StoreError) -> [ScopedRow] {
        try await read("reading rows by original transaction id") { db in
            let rows = ScopedRows(db: db)
            return try Set(originalTransactionIDs).flatMap(rows.holding)
                .sorted { $0.row.key < $1.row.key }
        }
    }

    package func standIns(
        of originalTransactionIDs: [String], in app: AppIdentity
    ) async throws(StoreError) -> [String: [SubscriptionKey]] {
        try await read("looking for rows under later transactions' ids") { db in
            var found: [String: [SubscriptionKey]] = [:]
            for id in Set(originalTransactionIDs) {
                let rows = try StandIns(db: db).rows(
                    of: SubscriptionKey(app: app, originalTransactionID: id))
                if !rows.isEmpty { found[id] = rows }
            }
            return found
        }
    }

    package func rowsToAskAgain(
        limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [ScopedRow] {
        try await read("reading rows to ask again") { db in
            try ScopedRows(db: db).toAskAgain(limit: limit, passID: pass.passID)
        }
    }
}
