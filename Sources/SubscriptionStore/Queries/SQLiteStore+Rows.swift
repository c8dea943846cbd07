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

    package func rows(
        holding originalTransactionIDs: [String]
    ) async throws(StoreError) -> [ScopedRow] {
        try await read("reading rows by original transaction id") { db in
            let rows = ScopedRows(db: db)
            return try Set(originalTransactionIDs).flatMap(rows.holding)
                .sorted { $0.row.key < $1.row.key }
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
