import Foundation
import GRDB
package import Subscriptions
import Synchronization

/// The company's rows as a run reads them, while its services read and write them.
///
/// Nothing of a run is known here: which rows a checkpoint has settled is said by
/// `settled(among:in:)`, what earlier runs noted about them by `notes(about:)`. Rows are changed by
/// `applyPlanned` alone, each in one transaction with its ledger entry.
extension SQLiteStore {
    /// The next rows in key order; fewer than `limit` only at the end of the table.
    package func rows(
        after key: SubscriptionKey?, limit: Int
    ) async throws(StoreError) -> [StoredSubscription] {
        let position = key.map { key in
            nonUTF8Keys.withLock { $0[key] } ?? StoredKey(key)
        }
        let page = try await read("reading rows to check") { db in
            try StoredSubscriptions(db: db).page(after: position, limit: limit)
        }
        if !page.unspeakable.isEmpty {
            nonUTF8Keys.withLock { $0.merge(page.unspeakable) { _, new in new } }
        }
        return page.rows
    }

    /// How many rows the table holds of each app and environment, in that order.
    package func rowsByApp() async throws(StoreError) -> [AppRows] {
        try await read("counting the rows of each app") { db in
            try db.rows(
                """
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

    /// The stored one-time purchases of an app with these transaction ids; `nil` where the table has none
    /// of the app at all.
    package func purchases(
        of app: AppIdentity, holding transactionIDs: Set<String>
    ) async throws(StoreError) -> [LocalTransaction]? {
        try await read("reading one-time purchases") { db in
            let isStored = try db.holds(
                "purchases WHERE bundle_id = ? AND environment = ?",
                [app.bundleID, app.environment.rawValue])
            guard isStored else { return nil }
            return try transactionIDs.sorted().compactMap { id in
                let key = TransactionKey(
                    bundleID: app.bundleID, environment: app.environment.rawValue,
                    transactionID: id)
                return try LocalTransaction.purchase(key, db)
            }
        }
    }

    /// The stored one-time purchases of a customer in an app, by id.
    package func purchases(
        of customer: PurchaseCustomer, in app: AppIdentity, limit: Int
    ) async throws(StoreError) -> [LocalTransaction] {
        try await read("reading a customer's one-time purchases") { db in
            let (condition, value) =
                switch customer {
                case .named(let name): ("customer_id", name)
                case .unnamed(let transactionID): ("transaction_id", transactionID)
                }
            return try LocalTransaction.purchases(
                where: """
                    t.\(condition) = ? AND t.bundle_id = ? AND t.environment = ?
                    ORDER BY t.transaction_id LIMIT ?
                    """, [value, app.bundleID, app.environment.rawValue, limit], db)
        }
    }

    /// The rows held under these original transaction ids in any app and environment, by key.
    package func rows(
        holding originalTransactionIDs: [String]
    ) async throws(StoreError) -> [StoredSubscription] {
        try await read("reading rows by original transaction id") { db in
            let rows = StoredSubscriptions(db: db)
            return try Set(originalTransactionIDs).flatMap(rows.holding)
                .sorted { $0.row.key < $1.row.key }
        }
    }

    /// The keys of rows under these ids of apps whose rows this run does not read; none where every
    /// row is at hand.
    package func keysOfUnreadApps(
        holding originalTransactionIDs: [String]
    ) async throws(StoreError) -> [SubscriptionKey] {
        guard let company else { return [] }
        return try await blocking { () throws(StoreError) in
            try company.unreadKeys(holding: originalTransactionIDs)
        }.sorted()
    }

    /// The stored id of one subscription that Apple is known to have answered about, or any.
    package func someOriginalTransactionID(
        of app: AppIdentity
    ) async throws(StoreError) -> String? {
        try await read("looking for a stored id") { db in
            try db.text(
                """
                SELECT original_transaction_id FROM subscriptions
                WHERE bundle_id = ? AND environment = ?
                ORDER BY status IS NULL, original_transaction_id LIMIT 1
                """, [app.bundleID, app.environment.rawValue])
        }
    }
}

/// Streaming of the stored rows in key order, at constant memory.
extension SQLiteStore {
    /// Hands over every subscription row; errors of `body` pass through unchanged.
    package func forEachSubscription(_ body: (LocalSubscription) throws -> Void) throws {
        try stream("reading the subscription rows") { db in
            try db.forEachRow(
                """
                SELECT \(try LocalSubscription.columns(db)) FROM subscriptions AS s
                ORDER BY s.bundle_id, s.environment, s.original_transaction_id
                """
            ) { row in try body(LocalSubscription(row)) }
        }
    }

    /// The columns of the subscription rows that an export names: those of every table, and of the
    /// optional ones those that any row fills.
    ///
    /// So a file of a table that makes no use of the others stays as its readers know it.
    package func columnsInUse() throws -> [SubscriptionField] {
        try stream("looking for the columns in use") { db in
            let optional = try OptionalColumns.present(db)
            return try SubscriptionField.allCases.filter { field in
                guard field != .paidElsewhereUntil else { return try OtherPayments.areHeld(db) }
                guard SubscriptionField.optional.contains(field) else { return true }
                guard optional.contains(field) else { return false }
                return try db.holds("subscriptions WHERE nullif(\(field.rawValue), '') IS NOT NULL")
            }
        }
    }

    /// Hands over every row of a table of transactions; errors of `body` pass through unchanged.
    package func forEachTransaction(
        of table: TransactionTable = .periods, _ body: (LocalTransaction) throws -> Void
    ) throws {
        try stream("reading the rows of the table \(table.rawValue)") { db in
            try db.forEachRow(
                """
                SELECT \(LocalTransaction.columns(of: table)) FROM \(table.rawValue) AS t
                ORDER BY t.bundle_id, t.environment, t.transaction_id
                """
            ) { row in try body(LocalTransaction(row, of: table)) }
        }
    }
}

/// Reads the company's rows with their periods and duplicates, which are asked for only where the
/// row says that there are any.
struct StoredSubscriptions {
    let db: Database

    /// More other rows than these are not listed: they make nothing clearer.
    private static let duplicatesListed = 20

    /// Apple's line items are numbers; `0`, a dash or a word mean that it is not known, and
    /// may do so in every row.
    private static func isLineItem(_ column: String) -> String { "\(column) GLOB '*[1-9]*'" }

    private func columns() throws -> String {
        """
        \(try LocalSubscription.columns(db)),
        EXISTS (SELECT 1 FROM transactions AS t
            WHERE \(SubscriptionKey.agree("t", "s"))),
        \(Self.hasDuplicates)
        """
    }

    /// Whether another row holds the original transaction or the line item of the row `s`, here or
    /// in the table that this one is a copy of.
    static let hasDuplicates = """
        (\(DoubledKeys.isDoubled) OR EXISTS (SELECT 1 FROM subscriptions AS d
            WHERE d.original_transaction_id = s.original_transaction_id
                AND (d.bundle_id <> s.bundle_id OR d.environment <> s.environment))
        OR EXISTS (SELECT 1 FROM subscriptions AS d
            WHERE d.web_order_line_item_id = s.web_order_line_item_id
                AND \(isLineItem("s.web_order_line_item_id"))
                AND d.bundle_id = s.bundle_id AND d.environment = s.environment
                AND d.original_transaction_id <> s.original_transaction_id))
        """

    func page(
        after position: StoredKey?, limit: Int
    ) throws -> (rows: [StoredSubscription], unspeakable: [SubscriptionKey: StoredKey]) {
        let start = position ?? .first
        // Everything sorts at or after the empty key, which is a key like any other.
        let relation = position == nil ? ">=" : ">"
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(try columns()) FROM subscriptions AS s
                WHERE (s.bundle_id, s.environment, s.original_transaction_id)
                    \(relation) \(start.marks)
                ORDER BY s.bundle_id, s.environment, s.original_transaction_id LIMIT ?
                """)
        let arguments = start.arguments + [limit]
        var unspeakable: [SubscriptionKey: StoredKey] = [:]
        let rows = try collect(statement, arguments) { row, key in
            guard try !StoredKey.isSpelled(key, in: row) else { return }
            unspeakable[key] = try StoredKey(row)
        }
        return (rows, unspeakable)
    }

    func holding(_ originalTransactionID: String) throws -> [StoredSubscription] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(try columns()) FROM subscriptions AS s
                WHERE s.original_transaction_id = ?
                """)
        return try collect(statement, [originalTransactionID])
    }

    private func collect(
        _ statement: Statement, _ arguments: StatementArguments,
        _ look: (Row, SubscriptionKey) throws -> Void = { _, _ in }
    ) throws -> [StoredSubscription] {
        var found: [(row: LocalSubscription, hasPeriods: Bool, hasDuplicates: Bool)] = []
        let cursor = try Row.fetchCursor(statement, arguments: arguments)
        let first = LocalSubscription.columnCount
        while let row = try cursor.next() {
            let subscription = LocalSubscription(row)
            try look(row, subscription.key)
            found.append(
                (subscription, row.number(at: first) == 1, row.number(at: first + 1) == 1))
        }
        return try found.map { item in
            let periods = item.hasPeriods ? try periods(of: item.row.key) : []
            return StoredSubscription(
                row: item.row, duplicates: item.hasDuplicates ? try duplicates(of: item.row) : [],
                periods: periods, periodsDigest: PeriodsDigest(periods))
        }
    }

    /// The stored periods of a subscription, by transaction id.
    func periods(of key: SubscriptionKey) throws -> [LocalTransaction] {
        var rows: [LocalTransaction] = []
        try db.forEachRow(
            cached: """
                SELECT \(LocalTransaction.columns(of: .periods)) FROM transactions AS t
                    INDEXED BY transactions_by_original_transaction
                WHERE t.bundle_id = ? AND t.environment = ? AND t.original_transaction_id = ?
                ORDER BY t.transaction_id
                """, key.arguments
        ) { row in rows.append(LocalTransaction(row, of: .periods)) }
        return rows
    }

    private func duplicates(of row: LocalSubscription) throws -> [SubscriptionKey] {
        let key = row.key
        var keys: [SubscriptionKey] = []
        try db.forEachRow(
            cached: """
                SELECT bundle_id, environment, original_transaction_id FROM subscriptions
                WHERE original_transaction_id = ? AND (bundle_id <> ? OR environment <> ?)
                UNION
                SELECT bundle_id, environment, original_transaction_id FROM subscriptions
                WHERE web_order_line_item_id = ? AND \(Self.isLineItem("web_order_line_item_id"))
                    AND bundle_id = ? AND environment = ? AND original_transaction_id <> ?
                ORDER BY bundle_id, environment, original_transaction_id
                LIMIT \(Self.duplicatesListed)
                """,
            [
                key.originalTransactionID, key.bundleID, key.environment, row.webOrderLineItemID,
                key.bundleID, key.environment, key.originalTransactionID,
            ]
        ) { other in keys.append(SubscriptionKey(other, at: 0)) }
        // Another row with the very same key, in the table that this one is a copy of.
        if try DoubledKeys(db: db).contains(key) { keys.append(key) }
        return keys
    }
}

/// The column `paid_elsewhere_until` of the subscription rows, which is in a table of trueup's: the
/// company's services know the columns of `subscriptions` and rebuild that table with them.
enum OtherPayments {
    static let table = "trueup_other_payments"
    static let column = "paid_until"

    /// The value next to a row of `subscriptions`, by the name of that table in the query.
    static func paidUntil(of row: String) -> String {
        """
        (SELECT o.\(column) FROM main.\(table) AS o WHERE o.bundle_id = \(row).bundle_id \
        AND o.environment = \(row).environment \
        AND o.original_transaction_id = \(row).original_transaction_id)
        """
    }

    /// Whether the table holds anything, of whatever row.
    static func areKept(_ db: Database) throws -> Bool {
        try db.holds(table)
    }

    /// Whether any row has a value.
    static func areHeld(_ db: Database) throws -> Bool {
        try db.holds(
            """
            \(table) AS o
                CROSS JOIN subscriptions AS s ON \(SubscriptionKey.agree("s", "o"))
            """)
    }

    static func erase(of keys: [SubscriptionKey], _ db: Database) throws {
        let isOfKey = """
            SELECT customer_id FROM subscriptions
            WHERE \(SubscriptionKey.isKey) AND nullif(customer_id, '') IS NOT NULL
            """
        for key in keys {
            for statement in [
                "DELETE FROM \(table) WHERE \(SubscriptionKey.isKey)",
                "DELETE FROM trueup_entitlement_notes WHERE customer_id IN (\(isOfKey))",
                "INSERT INTO trueup_entitlement_notes (customer_id) \(isOfKey)",
            ] {
                try db.executeCached(statement, key.arguments)
            }
        }
    }
}

/// The optional columns of the table `subscriptions`.
enum OptionalColumns {
    /// Those that the table has.
    static func present(_ db: Database) throws -> Set<SubscriptionField> {
        let names = SubscriptionField.optional.map { "'\($0.rawValue)'" }.sorted()
        return Set(
            try db.texts(
                cached: """
                    SELECT name FROM pragma_table_info('subscriptions')
                    WHERE name IN (\(names.joined(separator: ", ")))
                    """
            ).compactMap(SubscriptionField.init(rawValue:)))
    }

    /// Adds those of the columns that the table lacks.
    static func add(_ fields: some Sequence<SubscriptionField>, to db: Database) throws {
        let wanted = SubscriptionField.optional.intersection(fields)
        guard !wanted.isEmpty, try db.tableExists("subscriptions") else { return }
        let present = try present(db)
        // In the order of the list, which `SELECT *` shows.
        for field in SubscriptionField.allCases
        where wanted.contains(field) && !present.contains(field) {
            try db.execute(
                sql: """
                    ALTER TABLE main.subscriptions
                    ADD COLUMN \(field.rawValue) \(field.form.declaredType)
                    """)
        }
    }
}

extension SQLiteStore {
    /// Whether the company stores any one-time purchase.
    package func keepsPurchases() throws -> Bool {
        try stream("looking for one-time purchases") { db in
            try db.holds("purchases")
        }
    }

    /// The columns that the table `subscriptions` does not have, so that no row is checked by them.
    package func columnsNotStored() throws -> Set<SubscriptionField> {
        try stream("looking for the optional columns") { db in
            SubscriptionField.optional.subtracting(try OptionalColumns.present(db))
        }
    }
}

extension SubscriptionField {
    /// Returns SQL that reads the column in a query over `subscriptions`, by the name of that table
    /// there and the optional columns that it has.
    func expression(of row: String, optional: Set<SubscriptionField>) -> String {
        if self == .paidElsewhereUntil {
            return "\(OtherPayments.paidUntil(of: row)) AS \(rawValue)"
        }
        let isAbsent = Self.optional.contains(self) && !optional.contains(self)
        return isAbsent ? "NULL AS \(rawValue)" : "\(row).\(rawValue)"
    }
}

/// A subscription's key as the bytes that are stored.
///
/// GRDB reads and binds text up to the first NUL and repairs what is not UTF-8. A key spelled so
/// would sort before the row that it came from, and the walk would meet that row for ever.
struct StoredKey: Hashable, Sendable {
    /// One column of the key.
    private struct Part: Hashable, Sendable {
        let bytes: Data
        /// A BLOB sorts after every text and equals none.
        let isBlob: Bool

        init(_ text: String) {
            bytes = Data(text.utf8)
            isBlob = false
        }

        /// GRDB lends the bytes only until the next row.
        init(_ row: Row, at index: Int) throws {
            let value: DatabaseValue = row[index]
            if case .blob = value.storage { isBlob = true } else { isBlob = false }
            bytes = try row.withUnsafeData(atIndex: index) { lent in Data([UInt8](lent ?? Data())) }
        }

        /// The text, where text carries it.
        var text: String? {
            isBlob || bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
        }

        /// An expression makes SQLite read all of the app's rows, so that only text which cannot
        /// be bound as such is cast.
        var mark: String { isBlob || text != nil ? "?" : "CAST(? AS TEXT)" }

        var argument: DatabaseValue { text?.databaseValue ?? bytes.databaseValue }
    }

    /// In the order of the primary key.
    private let parts: [Part]

    init(_ key: SubscriptionKey) {
        parts = [key.bundleID, key.environment, key.originalTransactionID].map(Part.init)
    }

    /// Nothing sorts before it.
    static let first = StoredKey(
        SubscriptionKey(bundleID: "", environment: "", originalTransactionID: ""))

    /// The SQL to compare the primary key with, to go with `arguments`.
    ///
    /// SQLite finds its place by the whole key only when it is compared with plain parameters.
    var marks: String { "(" + parts.map(\.mark).joined(separator: ", ") + ")" }

    /// The key in the order of the primary key.
    var arguments: StatementArguments { StatementArguments(parts.map(\.argument)) }

    /// Reads the three key columns, which are in the order of `SubscriptionField`.
    init(_ row: Row) throws {
        parts = [try Part(row, at: 2), try Part(row, at: 1), try Part(row, at: 0)]
    }

    /// Whether the key columns of a row hold exactly this text.
    ///
    /// Repairing writes U+FFFD, and nearly always changes the length.
    static func isSpelled(_ key: SubscriptionKey, in row: Row) throws -> Bool {
        let parts = [key.originalTransactionID, key.environment, key.bundleID]
        for (index, text) in parts.enumerated() {
            let value = row.stored(at: index)
            if case .blob = value.value.storage { return false }
            if value.isPlainText, case .string(text) = value.value.storage { continue }
            let stored = try row.withUnsafeData(atIndex: index) { $0?.count ?? 0 }
            let mayBeRepaired = text.utf8.contains(0xEF)
            guard stored == text.utf8.count, !mayBeRepaired else {
                return try StoredKey(row) == StoredKey(key)
            }
        }
        return true
    }
}

extension LocalTransaction {
    /// The stored one-time purchase of a key.
    static func purchase(_ key: TransactionKey, _ db: Database) throws -> LocalTransaction? {
        try purchases(
            where: "t.bundle_id = ? AND t.environment = ? AND t.transaction_id = ?",
            [key.bundleID, key.environment, key.transactionID], db
        ).first
    }

    /// The stored one-time purchases `t` of which a condition holds.
    fileprivate static func purchases(
        where condition: String, _ arguments: StatementArguments, _ db: Database
    ) throws -> [LocalTransaction] {
        var found: [LocalTransaction] = []
        // At the cursor, where bytes that are not text are still seen.
        try db.forEachRow(
            cached: "SELECT \(columns(of: .purchases)) FROM purchases AS t WHERE \(condition)",
            arguments
        ) { row in found.append(LocalTransaction(row, of: .purchases)) }
        return found
    }
}
