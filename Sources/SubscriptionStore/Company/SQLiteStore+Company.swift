import Foundation
import GRDB
package import Subscriptions

/// The copy of the company's own table, where a mapping names one.
extension SQLiteStore {
    /// What the copy is of; `nil` where the rows stand here alone.
    package func copyState() throws(StoreError) -> CopyState? {
        do {
            return try stream("reading what the rows are a copy of") { db in
                try Row.fetchOne(
                    db, sql: "SELECT table_name, refreshed_at, row_count FROM trueup_company"
                ).map { row in
                    CopyState(
                        table: row.requiredText(at: 0), refreshedAt: row.time(at: 1),
                        rows: row.integer(at: 2))
                }
            }
        } catch {
            throw StoreError(error, doing: "reading what the rows are a copy of")
        }
    }

    /// Why a refusal was not written, in sentences.
    package var companyRemarks: [String] { company?.remarks ?? [] }

    /// How much of a second the company's columns keep; known once the copy was refreshed.
    package var companyPrecision: TimePrecision { company?.database.precision ?? TimePrecision() }

    /// Makes the books ready for a run over the company's own table: the mapping holds, both ledgers
    /// agree, and the copy is as the table is now.
    ///
    /// - Parameters:
    ///   - mode: A check makes nothing in the company's database.
    ///   - now: When.
    ///   - apps: Whose rows are read, as far as columns tell apps apart; `nil` for all.
    ///   - shown: The line of an entry of the ledger as a report shows it.
    ///   - goesOn: Told after each page how many rows were read, of about how many; `false` stops.
    /// - Returns: What was read; `nil` without a table elsewhere.
    /// - Throws: 78 where the schema changed, where the table was restored behind the books, or where
    ///   these books are not those of this table: no row was touched.
    package func refreshCopy(
        for mode: RunMode, at now: Timestamp, of apps: Set<AppIdentity>? = nil,
        filling shown: (Int64) -> String? = { _ in nil },
        whileAllowed goesOn: (_ rows: Int64, _ expected: Int64?) -> Bool = { _, _ in true }
    ) async throws(StoreError) -> CopyRefresh? {
        guard let company else {
            guard let state = try copyState() else { return nil }
            throw .schema(
                "The rows in \(file.path) are a copy of your table \(state.table), and "
                    + "`store.subscriptions` does not name it any more. Nothing was read or "
                    + "written. Put the setting back, or name another file in `store.url`.")
        }
        try await blocking { () throws(StoreError) in
            try company.database.check(mayWrite: mode == .apply)
        }
        let refresh = try await beginRefresh(of: company)
        try await takeOver(from: company, filling: shown)
        let apps = apps?.sorted()
        company.unread.reading(apps)
        let expected = try await expectedRows(of: apps)
        var counts = CopyRefresh()
        var cursor: CompanyCursor?
        repeat {
            let position = cursor
            let page = try await blocking { () throws(StoreError) in
                try company.database.rows(
                    after: position, limit: StoreLimits.rowsPerChunk, of: apps)
            }
            for rows in page.rows.chunked(by: StoreLimits.scatteredRowsPerChunk) {
                let read = try await write("copying rows of \(company.mapping.table)") { db in
                    try CopyWriter(db: db, mapping: company.mapping, refresh: refresh).take(rows)
                }
                counts.add(read)
            }
            cursor = page.next
            guard goesOn(counts.rows, expected) || cursor == nil else {
                counts.isWhole = false
                return counts
            }
        } while cursor != nil
        counts.keyless = try await blocking { () throws(StoreError) in
            try company.database.keylessRows(of: apps)
        }
        counts.deleted = try await deleteUnseen(by: refresh, of: apps)
        let rows = apps == nil ? counts.rows : try await expectedRows(of: nil)
        try await write("noting that \(company.mapping.table) was read") { db in
            try db.execute(
                sql: "UPDATE trueup_company SET refreshed_at = ?, row_count = ?",
                arguments: [now.unixMilliseconds, rows])
        }
        return counts
    }

    /// The number of this reading.
    func beginRefresh(of company: CompanyLink) async throws(StoreError) -> Int64 {
        let path = file.path
        let table = company.mapping.table.description
        return try await write("beginning to read \(table)") { db in
            if let known = try String.fetchOne(db, sql: "SELECT table_name FROM trueup_company") {
                guard known == table else {
                    throw StoreError.schema(
                        "The books \(path) are those of your table \(known), not of \(table). "
                            + "Nothing was read or written. Correct `store.subscriptions.table`, "
                            + "or name another file in `store.books`.")
                }
                try db.execute(sql: "UPDATE trueup_company SET refresh = refresh + 1")
            } else {
                let hasRows =
                    try Bool.fetchOne(
                        db,
                        sql: """
                            SELECT EXISTS (SELECT 1 FROM subscriptions)
                                OR EXISTS (SELECT 1 FROM transactions)
                            """) ?? false
                guard !hasRows else {
                    throw StoreError.schema(
                        "The books \(path) hold rows of their own, which would be replaced by a "
                            + "copy of \(table). Nothing was read or written. Name another file in "
                            + "`store.books`.")
                }
                try db.execute(
                    sql: "INSERT INTO trueup_company VALUES (1, ?, ?, 1, NULL, NULL)",
                    arguments: [table, try Ledger(db: db).head().number])
            }
            return try Int64.fetchOne(db, sql: "SELECT refresh FROM trueup_company") ?? 1
        }
    }

    /// How many rows the copy holds, which the table will hold about now; `nil` for none.
    private func expectedRows(of apps: [AppIdentity]?) async throws(StoreError) -> Int64? {
        try await read("counting the rows of the copy") { db in
            var rows: Int64 = 0
            for app in apps ?? [] {
                rows &+=
                    try Int64.fetchOne(
                        db,
                        sql: """
                            SELECT count(*) FROM trueup_company_rows
                            WHERE bundle_id = ? AND environment = ?
                            """,
                        arguments: [app.bundleID, app.environment.rawValue]) ?? 0
            }
            if apps == nil {
                rows =
                    try Int64.fetchOne(db, sql: "SELECT count(*) FROM trueup_company_rows") ?? 0
            }
            return rows == 0 ? nil : rows
        }
    }

    /// Deletes rows of the copy that a complete reading did not meet.
    private func deleteUnseen(
        by refresh: Int64, of apps: [AppIdentity]?
    ) async throws(StoreError) -> Int64 {
        var deleted: Int64 = 0
        var last: SubscriptionKey?
        let places = (apps ?? []).map { _ in "(?, ?)" }.joined(separator: ", ")
        let isRead = apps == nil ? "" : "AND (bundle_id, environment) IN (VALUES \(places))"
        let ids = (apps ?? []).flatMap { [$0.bundleID, $0.environment.rawValue] }
        guard apps?.isEmpty != true else { return 0 }
        while true {
            let position =
                last
                ?? SubscriptionKey(
                    bundleID: "", environment: "", originalTransactionID: "")
            let keys = try await read("looking for rows that are gone") { db in
                try Row.fetchAll(
                    db,
                    sql: """
                        SELECT bundle_id, environment, original_transaction_id
                        FROM trueup_company_rows
                        WHERE refresh <> ? AND (bundle_id, environment, original_transaction_id)
                            >= (?, ?, ?) \(isRead)
                        ORDER BY bundle_id, environment, original_transaction_id LIMIT ?
                        """,
                    arguments: [refresh] + position.arguments + StatementArguments(ids)
                        + [StoreLimits.scatteredRowsPerChunk]
                ).map { SubscriptionKey($0, at: 0) }
            }
            guard let end = keys.last else { return deleted }
            try await write("deleting rows that are gone from the copy") { db in
                for key in keys {
                    try db.cachedStatement(
                        sql: """
                            DELETE FROM subscriptions WHERE bundle_id = ? AND environment = ?
                                AND original_transaction_id = ?
                            """
                    ).execute(arguments: key.arguments)
                    try CompanyRowMark(db: db, key: key).forget()
                }
            }
            deleted &+= Int64(keys.count)
            last = end
        }
    }

    /// Runs calls that block outside the few threads that tasks share.
    func blocking<Value: Sendable>(
        _ work: @escaping @Sendable () throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: Result { () throws(StoreError) in try work() })
            }
        }
        return try result.get()
    }
}

extension Array {
    /// Pieces of at most so many elements, in order.
    fileprivate func chunked(by size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: Swift.max(1, size)).map {
            self[$0..<Swift.min(count, $0 + Swift.max(1, size))]
        }
    }
}
