import Foundation
import GRDB
package import Subscriptions

/// The changes that reading the company's table made to the imported rows.
package struct CopyRefresh: Hashable, Sendable {
    /// Which of trueup's tables was made equal.
    package var table = MappedTable.subscriptions
    package var rows: Int64 = 0
    package var inserted: Int64 = 0
    package var changed: Int64 = 0
    package var deleted: Int64 = 0
    /// Rows with a value that has not the form that the mapping states; they are never written.
    package var unreadable: Int64 = 0
    /// The first of them, by column and stored value.
    package var firstUnreadable: String?
    /// Rows whose key another row has as well; only the first of each counts.
    package var doubled: Int64 = 0
    package var firstDoubled: SubscriptionKey?
    /// Rows that have no key, and so are in no copy.
    package var keyless = KeylessRows()
    /// Rows whose key is longer than `CopyWriter.longestKeyBytes`, and so are in no copy either.
    package var overlong: Int64 = 0
    /// The first of them.
    package var firstOverlong: SubscriptionKey?
    /// Whether the table was read to its end; what was read before a stop is in the copy.
    package var isWhole = true

    package init(_ table: MappedTable = .subscriptions) { self.table = table }

    /// Remarks for the person on call, in sentences.
    package var remarks: [String] {
        var remarks: [String] = []
        if unreadable > 0, let firstUnreadable {
            remarks.append(
                unreadable == 1
                    ? "1 row of your table holds a value that `\(table.setting)` does not read, "
                        + "\(firstUnreadable): it is not checked, and never written."
                    : "\(unreadable) rows of your table hold a value that `\(table.setting)` does "
                        + "not read, for example \(firstUnreadable): they are not checked, and never "
                        + "written.")
        }
        if doubled > 0, let firstDoubled {
            remarks.append(
                "\(doubled == 1 ? "1 row" : "\(doubled) rows") of your table "
                    + "\(doubled == 1 ? "has" : "have") the key of another row, for example "
                    + "\(firstDoubled.originalTransactionID): one of each is checked, and none is "
                    + "written.")
        }
        if keyless.count > 0 {
            let columns = keyless.columns.map { "`" + $0 + "`" }.joined(separator: " or ")
            let rows = keyless.count == 1 ? "1 row" : "\(keyless.count) rows"
            remarks.append(
                "\(rows) of your table \(keyless.count == 1 ? "has" : "have") no value (NULL) in "
                    + "\(columns), by which a \(table.nameOfRow) is found: not read, not checked and in no "
                    + "total. Fill the column in, or take such rows out of the table.")
        }
        if overlong > 0, let firstOverlong {
            let shown = firstOverlong.originalTransactionID.prefix(40)
            let id = table == .subscriptions ? "original transaction id" : "transaction id"
            let rows =
                overlong == 1
                ? "1 row of your table has \(table == .subscriptions ? "an" : "a") \(id)"
                : "\(overlong) rows of your table have \(id)s"
            remarks.append(
                "\(rows) of more than \(CopyWriter.longestKeyBytes) bytes with app and environment, "
                    + "such as \"\(shown)…\": not read, not checked and in no total. Apple's have about "
                    + "15 digits. Correct the column, or take such rows out of the table.")
        }
        return remarks
    }
}

/// Makes rows of the copy equal to what was read in the company's table.
///
/// A row is only written where a mapped value differs, so that its version rises only then. Columns
/// that are not mapped stay: they are our bookkeeping. So does a value that was written as Apple
/// stated it, where the company's column keeps and shows less of it.
struct CopyWriter {
    let db: Database
    let mapping: TableMapping
    /// The number of the reading.
    let refresh: Int64

    /// Longer keys fit no index of a server on which the books may stand (PostgreSQL's have 2,704
    /// bytes a line), and one such row must not end every run.
    static let longestKeyBytes = 1000

    /// Returns the counts with these rows added to them.
    ///
    /// Every row is marked as seen, because the two databases do not sort keys alike.
    func take(_ rows: ArraySlice<CompanyRow>, addingTo counts: CopyRefresh) throws -> CopyRefresh {
        var counts = counts
        try OptionalColumns.add(mapping.read.compactMap(\.field.ofSubscription), to: db)
        var doubled = DoubledKeys(db: db)
        for row in rows {
            guard row.key.byteCount <= Self.longestKeyBytes else {
                counts.overlong &+= 1
                counts.firstOverlong = counts.firstOverlong ?? row.key
                continue
            }
            try take(row, &counts)
            if table == .subscriptions { try doubled.note(row) }
        }
        return counts
    }

    private func take(_ row: CompanyRow, _ counts: inout CopyRefresh) throws {
        counts.doubled &+= Int64(row.twins)
        if row.twins > 0 { counts.firstDoubled = counts.firstDoubled ?? row.key }
        guard try mark(row) else {
            // Keys that the company's database sorts apart and we read alike.
            counts.doubled &+= 1
            counts.firstDoubled = counts.firstDoubled ?? row.key
            return
        }
        counts.rows &+= 1
        if let (field, shown) = row.unreadable.min(by: { $0.key.name < $1.key.name }) {
            counts.unreadable &+= 1
            counts.firstUnreadable =
                counts.firstUnreadable
                ?? "\(field.name) \"\(shown.prefix(40))\" of \(row.key.originalTransactionID)"
        }
        let fields = mapping.read.map(\.field).filter { !mapping.key.contains($0) }
        var values = fields.map { stored($0, of: row) }
        guard !fields.isEmpty else {
            try db.executeCached(
                "INSERT OR IGNORE INTO \(table.rawValue) (\(table.keyNames)) VALUES (?, ?, ?)",
                row.key.arguments)
            counts.inserted &+= Int64(db.changesCount)
            return
        }
        let names = fields.map(\.name)
        let read = try db.cachedStatement(
            sql: """
                SELECT \(names.joined(separator: ", ")) FROM \(table.rawValue)
                WHERE \(table.isKey)
                """)
        // Compared while it is at the cursor, where nothing has been repaired.
        let cursor = try Row.fetchCursor(read, arguments: row.key.arguments)
        if let held = try cursor.next().map({ Array($0.databaseValues) }) {
            for (index, field) in fields.enumerated()
            where isReading(values[index], of: held[index], in: field) {
                values[index] = held[index]
            }
            guard held != values else { return }
            counts.changed &+= 1
            let sets = names.map { "\($0) = ?" }.joined(separator: ", ")
            try db.executeCached(
                "UPDATE \(table.rawValue) SET \(sets) WHERE \(table.isKey)",
                StatementArguments(values) + row.key.arguments)
        } else {
            counts.inserted &+= 1
            let all = [table.keyNames] + names + columnsBesides
            let arguments = row.key.arguments + StatementArguments(values) + besides(row)
            let marks = Array(repeating: "?", count: names.count + columnsBesides.count + 3)
            try db.executeCached(
                """
                INSERT INTO \(table.rawValue) (\(all.joined(separator: ", ")))
                VALUES (\(marks.joined(separator: ", ")))
                """, arguments)
        }
    }

    private var table: MappedTable { mapping.kind }

    /// A purchase that is not a restored one is its own original.
    private var columnsBesides: [String] {
        let original = MappedField.purchase(.originalTransactionID)
        return table == .purchases && mapping.columns[original] == nil ? [original.name] : []
    }

    private func besides(_ row: CompanyRow) -> StatementArguments {
        StatementArguments(columnsBesides.map { _ in row.key.originalTransactionID })
    }

    /// Whether the company's column shows what the copy holds, as well as it can.
    private func isReading(
        _ read: DatabaseValue, of held: DatabaseValue, in field: MappedField
    ) -> Bool {
        guard read != held, let read = field.form.value(read), let held = field.form.value(held)
        else { return false }
        return mapping.isReading(read, of: held, in: field)
    }

    /// - Returns: `false` where this reading has seen the key before.
    private func mark(_ row: CompanyRow) throws -> Bool {
        try db.executeCached(
            """
            INSERT INTO \(table.marks) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET refresh = excluded.refresh, version = excluded.version
            WHERE refresh <> excluded.refresh
            """, row.key.arguments + [refresh, row.version])
        return db.changesCount == 1
    }

    /// An unreadable value is kept as something that has not the column's type here either, so that
    /// every reader of the row sees that it is unreadable.
    private func stored(_ field: MappedField, of row: CompanyRow) -> DatabaseValue {
        guard let shown = row.unreadable[field] else {
            return (row.values[field] ?? .null).databaseValue
        }
        if field.form == .text { return Data(shown.utf8).databaseValue }
        // SQLite takes text for a number where it looks like one.
        return (Double(shown) == nil ? shown : "\"\(shown)\"").databaseValue
    }
}

extension FieldForm {
    /// A stored value; `nil` where it has not the column's type.
    fileprivate func value(_ stored: DatabaseValue) -> FieldValue? {
        switch (self, stored.storage) {
        case (.time, .int64(let number)): .time(Timestamp(unixMilliseconds: number))
        case (.integer, .int64(let number)): .integer(number)
        case (.text, .string(let text)): .text(text)
        default: nil
        }
    }
}

extension SubscriptionKey {
    fileprivate var byteCount: Int {
        bundleID.utf8.count + environment.utf8.count + originalTransactionID.utf8.count
    }
}

/// Keys that several rows of the company's own table have: the copy holds one row of each.
struct DoubledKeys {
    let db: Database
    private lazy var areAny = try? db.holds("trueup_company_doubled")

    init(db: Database) { self.db = db }

    /// Whether the row `s` is one of several, in the table that it is a copy of.
    static let isDoubled = """
        EXISTS (SELECT 1 FROM trueup_company_doubled AS c
            WHERE \(SubscriptionKey.agree("c", "s")))
        """

    /// Notes what a reading met; nearly always that is nothing.
    mutating func note(_ row: CompanyRow) throws {
        if row.twins > 0 {
            try db.executeCached(
                "INSERT OR IGNORE INTO trueup_company_doubled VALUES (?, ?, ?)", row.key.arguments)
            areAny = true
        } else if areAny ?? true {
            try forget(row.key)
        }
    }

    func forget(_ key: SubscriptionKey) throws {
        try db.executeCached(
            "DELETE FROM trueup_company_doubled WHERE \(SubscriptionKey.isKey)", key.arguments)
    }

    func contains(_ key: SubscriptionKey) throws -> Bool {
        try db.holds("trueup_company_doubled WHERE \(SubscriptionKey.isKey)", key.arguments)
    }

    /// Keys of which no report says yet that several rows have them.
    ///
    /// The values of the row itself say nothing of it.
    func unreported() throws -> Set<SubscriptionKey> {
        let found = try db.rows(
            """
            SELECT c.bundle_id, c.environment, c.original_transaction_id
            FROM trueup_company_doubled AS c
            WHERE NOT EXISTS (SELECT 1 FROM trueup_findings AS h
                WHERE \(SubscriptionKey.agree("h", "c"))
                    AND h.kind = '\(FindingKind.duplicateLocal.rawValue)'
                    AND h.state IN \(OpenFindings.states))
            """)
        return Set(found.map { SubscriptionKey($0, at: 0) })
    }
}

/// The copy of the company's own table, where a mapping names one.
extension SQLiteStore {
    /// Returns the table from which the rows were imported; `nil` where the rows are stored here
    /// alone.
    package func copyState() throws(StoreError) -> CopyState? {
        try view("reading what the rows are a copy of") { db in
            try db.row("SELECT table_name, refreshed_at, row_count FROM trueup_company").map {
                row in
                CopyState(
                    table: row.requiredText(at: 0), refreshedAt: row.time(at: 1),
                    rows: row.integer(at: 2))
            }
        }
    }

    /// The reasons of refused changes, in sentences.
    package var companyRemarks: [String] { company?.remarks ?? [] }

    /// How much of a second the company's columns keep; known once the copy was refreshed.
    package var companyPrecision: TimePrecision { company?.database.precision ?? TimePrecision() }

    /// Makes the books ready for a run over the company's own table: the mapping holds, both
    /// ledgers agree, and the copy is as the table is now.
    ///
    /// - Parameters:
    ///   - mode: A check makes nothing in the company's database.
    ///   - now: When.
    ///   - apps: Whose rows are read, as far as columns tell apps apart; `nil` for all.
    ///   - shown: The line of an entry of the ledger as a report shows it.
    ///   - mayContinue: Called after each page with how many rows were read, of about how many; `false` stops.
    /// - Returns: What was read of each table; none without a table elsewhere.
    /// - Throws: 78 where the schema changed, where the table was restored behind the books, or
    ///   where these books are not those of this table: no row was touched.
    package func refreshCopy(
        for mode: RunMode, at now: Timestamp, of apps: Set<AppIdentity>? = nil,
        filling shown: (Int64) -> String? = { _ in nil },
        whileAllowed mayContinue: (_ rows: Int64, _ expected: Int64?) -> Bool = { _, _ in true }
    ) async throws(StoreError) -> [CopyRefresh] {
        guard let company else {
            guard let state = try copyState() else { return [] }
            throw .schema(
                "The rows in \(file.path) were imported from your table \(state.table), which "
                    + "`store.subscriptions` no longer names. Nothing was read or written. Put the "
                    + "setting back, or name another file in `store.url`.")
        }
        try await blocking { () throws(StoreError) in
            try company.database.check(mayWrite: mode == .apply)
        }
        // Before anything is read: a query that fails ends the run.
        _ = try await waitForCompanyDatabase()
        let refresh = try await beginRefresh(of: company)
        try await adoptEntries(from: company, filling: shown)
        let apps = apps?.sorted()
        company.noteReading(of: apps)
        var read: [CopyRefresh] = []
        for mapping in company.mapping.all {
            read.append(
                try await refreshCopy(
                    by: mapping, of: company, refresh, apps, whileAllowed: mayContinue))
            guard read.last?.isWhole == true else { return read }
        }
        let rows = apps == nil ? read.first?.rows : try await expectedRows(in: .subscriptions)
        try await write("noting that \(company.mapping.table) was read") { db in
            try db.execute(
                sql: "UPDATE trueup_company SET refreshed_at = ?, row_count = ?",
                arguments: [now.unixMilliseconds, rows])
        }
        if mode == .apply { try await keepCompanyEntitlements(of: apps) }
        return read
    }

    /// Makes the copy of one table equal to it.
    private func refreshCopy(
        by mapping: TableMapping, of company: CompanyLink, _ refresh: Int64,
        _ apps: [AppIdentity]?,
        whileAllowed mayContinue: (_ rows: Int64, _ expected: Int64?) -> Bool
    ) async throws(StoreError) -> CopyRefresh {
        let table = mapping.kind
        if table == .purchases { try await markPurchasesHeld() }
        let expected = try await expectedRows(in: table, of: apps)
        var counts = CopyRefresh(table)
        var cursor: CompanyCursor?
        var pagesReadBefore = 0
        repeat {
            let position = cursor
            let page = try await blocking { () throws(StoreError) in
                try company.database.rows(
                    of: table, after: position, limit: StoreLimits.rowsPerChunk, of: apps)
            }
            let before = counts.rows &+ counts.overlong
            for rows in page.rows.chunked(by: StoreLimits.scatteredRowsPerChunk) {
                counts = try await write("copying rows of \(mapping.table)") { [counts] db in
                    try CopyWriter(db: db, mapping: mapping, refresh: refresh)
                        .take(rows, addingTo: counts)
                }
            }
            // One may be moved behind the cursor by a write of the company's, but never all.
            pagesReadBefore =
                page.rows.isEmpty || counts.rows &+ counts.overlong > before
                ? 0 : pagesReadBefore + 1
            guard pagesReadBefore < 3 else {
                throw .unavailable(
                    "\(mapping.table) gave the same rows again and again, and no end of them. "
                        + "No row was written. Correct what reads it for trueup.")
            }
            cursor = page.next
            if cursor != nil { _ = try await waitForCompanyDatabase() }
            guard mayContinue(counts.rows, expected) || cursor == nil else {
                counts.isWhole = false
                return counts
            }
        } while cursor != nil
        counts.keyless = try await blocking { () throws(StoreError) in
            try company.database.keylessRows(of: table, of: apps)
        }
        counts.deleted = try await deleteUnseen(in: table, by: refresh, of: apps)
        return counts
    }

    /// The number of this reading.
    func beginRefresh(of company: CompanyLink) async throws(StoreError) -> Int64 {
        let path = file.path
        let table = company.mapping.table.description
        return try await write("beginning to read \(table)") { db in
            if try Self.belongs(db, at: path, to: table) {
                try db.execute(sql: "UPDATE trueup_company SET refresh = refresh + 1")
            } else {
                try db.execute(
                    sql: "INSERT INTO trueup_company VALUES (1, ?, ?, 1, NULL, NULL)",
                    arguments: [table, try Ledger(db: db).head().number])
            }
            return try db.integer("SELECT refresh FROM trueup_company") ?? 1
        }
    }

    /// Refuses a database with rows that a run of the company's table may not replace.
    ///
    /// - Throws: `StoreError.schema` where it belongs to another table or has rows of its own.
    package func checkOwner(is company: CompanyLink) async throws(StoreError) {
        let path = file.path
        let table = company.mapping.table.description
        _ = try await read("looking for whose rows are there") { db in
            try Self.belongs(db, at: path, to: table)
        }
    }

    /// Whether a run has read the table before; `false` for a database without rows.
    private static func belongs(
        _ db: Database, at path: String, to table: String
    ) throws -> Bool {
        if let known = try db.text("SELECT table_name FROM trueup_company") {
            guard known == table else {
                throw StoreError.schema(
                    "trueup's database \(path) belongs to your table \(known), not to \(table). "
                        + "Nothing was read or written. Correct `store.subscriptions.table`, "
                        + "or name another file in `store.books`.")
            }
            return true
        }
        guard try !db.holds("subscriptions"), try !db.holds("transactions") else {
            throw StoreError.schema(
                "\(path) has rows of its own, which rows imported from \(table) would "
                    + "replace. Nothing was read or written. Name another file in "
                    + "`store.books`.")
        }
        return false
    }

    /// Notes purchases that are held and that no reading has met: they were imported before the table
    /// was mapped, or the file was made again from a database on a server.
    private func markPurchasesHeld() async throws(StoreError) {
        let marks = MappedTable.purchases.marks
        try await write("noting which purchases are held") { db in
            try db.execute(
                sql: """
                    INSERT INTO \(marks)
                    SELECT \(MappedTable.purchases.keyNames), 0, NULL FROM purchases
                    WHERE NOT EXISTS (SELECT 1 FROM \(marks))
                    """)
        }
    }

    /// How many rows the copy holds, which the table will hold about now; `nil` for none.
    private func expectedRows(
        in table: MappedTable, of apps: [AppIdentity]? = nil
    ) async throws(StoreError) -> Int64? {
        try await read("counting the imported rows") { db in
            let count = "SELECT count(*) FROM \(table.marks)"
            let rows =
                try apps?.reduce(0) { rows, app in
                    try rows
                        &+ db.count(
                            count + " WHERE bundle_id = ? AND environment = ?",
                            [app.bundleID, app.environment.rawValue])
                } ?? db.count(count)
            return rows == 0 ? nil : Int64(rows)
        }
    }

    /// Deletes rows of the copy that a complete reading did not meet.
    private func deleteUnseen(
        in table: MappedTable, by refresh: Int64, of apps: [AppIdentity]?
    ) async throws(StoreError) -> Int64 {
        var deleted: Int64 = 0
        var last: SubscriptionKey?
        let isRead =
            apps.map { "AND (bundle_id, environment) IN (VALUES \($0.marks))" } ?? ""
        guard apps?.isEmpty != true else { return 0 }
        while true {
            let keys = try await read("looking for rows that are gone") { [last] db in
                try db.rows(
                    """
                    SELECT \(table.keyNames) FROM \(table.marks)
                    WHERE refresh <> ? AND (\(table.keyNames)) >= (?, ?, ?) \(isRead)
                    ORDER BY \(table.keyNames) LIMIT ?
                    """,
                    [refresh] + (last?.arguments ?? ["", "", ""])
                        + (apps?.arguments ?? [])
                        + [StoreLimits.scatteredRowsPerChunk]
                ).map { SubscriptionKey($0, at: 0) }
            }
            guard let end = keys.last else { return deleted }
            try await write("deleting imported rows that your table lacks") { db in
                for key in keys {
                    try db.executeCached(
                        "DELETE FROM \(table.rawValue) WHERE \(table.isKey)", key.arguments)
                    try CompanyRowMark(db: db, table: table, key: key).forget()
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
