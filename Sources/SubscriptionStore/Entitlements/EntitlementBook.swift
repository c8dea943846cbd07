import Foundation
import GRDB
import Reconciliation
package import Subscriptions

/// Keeps `trueup_entitlements` as the rows of the customers say, by the catalogue.
///
/// Triggers note each customer whose rows change. What trueup writes is settled in the same
/// transaction, so no row of its is ever newer than the entitlements. Only a placeholder such as
/// `guest` is settled once, by `SQLiteStore.bringEntitlementsUpToDate`: each transaction would read
/// all of its rows.
struct EntitlementBook {
    let db: Database
    let catalogue: ProductCatalogue?
    /// Whether reports list what customers gain who had nothing of it; not of rows that are imported,
    /// nor as the table is filled in for the first time.
    var listsNew = true

    /// Takes an entitlement that changed, with its end before and now.
    typealias Change = (
        StoredEntitlement.Key, _ before: Timestamp??, _ after: Timestamp??
    ) -> Void

    /// Does the work of one transaction of trueup, and settles what it changed.
    func settling<Value>(_ body: (Database) throws -> Value) throws -> Value {
        let last = try lastNote()
        let value = try body(db)
        try settle(after: last, limit: nil)
        return value
    }

    /// The highest number that a note ever had.
    func lastNote() throws -> Int64 {
        try db.integer(
            cached: "SELECT seq FROM sqlite_sequence WHERE name = 'trueup_entitlement_notes'")
            ?? 0
    }

    /// How many rows one customer has at the most; what has more is a placeholder.
    static let mostRows = 1_000

    /// A condition: a customer id has the rows of one customer.
    static func isOne(_ customer: String) -> String {
        let rows = ["subscriptions", "purchases"].map { table in
            """
            (SELECT count(*) FROM (SELECT 1 FROM \(table) AS c INDEXED BY \(table)_by_customer
                WHERE c.customer_id = \(customer) LIMIT \(mostRows + 1)))
            """
        }
        return "\(rows[0]) + \(rows[1]) <= \(mostRows)"
    }

    /// Brings the entitlements of noted customers up to date.
    ///
    /// - Parameters:
    ///   - last: Only notes with higher numbers.
    ///   - limit: How many customers at most; `nil` for all but placeholders.
    ///   - change: Takes each entitlement that changed, with its end before and now.
    /// - Returns: How many customers were noted.
    /// - Throws: An error of the database.
    @discardableResult
    func settle(
        after last: Int64, limit: Int?, _ change: Change = { _, _, _ in }
    ) throws -> Int {
        let noted = try db.rows(
            cached: """
                SELECT note, customer_id FROM trueup_entitlement_notes AS n WHERE note > ?
                    AND \(limit == nil ? Self.isOne("n.customer_id") : "true")
                ORDER BY note LIMIT ?
                """, [last, limit ?? -1])
        guard !noted.isEmpty else { return 0 }
        try update(noted.map { $0.requiredText(at: 1) }, change)
        let remove = try db.cachedStatement(
            sql: "DELETE FROM trueup_entitlement_notes WHERE note = ?")
        for row in noted { try remove.execute(arguments: [row.integer(at: 0)]) }
        return noted.count
    }

    /// The changes that make the company's table of entitlements the same in these keys.
    func changes(
        of keys: Set<StoredEntitlement.Key>
    ) throws -> [CompanyEntitlementChange] {
        try keys.map { key in try stored(key).map { .kept($0) } ?? .deleted(key) }
    }

    func stored(_ key: StoredEntitlement.Key) throws -> StoredEntitlement? {
        try db.row(
            cached: """
                SELECT \(StoredEntitlement.columns) FROM trueup_entitlements AS e
                WHERE e.bundle_id = ? AND e.environment = ? AND e.customer_id = ?
                    AND e.entitlement = ?
                """, key.arguments
        ).map(StoredEntitlement.init)
    }

    /// Brings the entitlements of customers up to date, each named once.
    func update(_ customers: [String], _ change: Change = { _, _, _ in }) throws {
        for some in customers.chunked(by: CustomerRows.customersAtOnce) {
            for (customer, rows) in zip(some, try CustomerRows.read(of: Array(some), db)) {
                try update(customer, rows, change)
            }
        }
    }

    private func update(
        _ customer: String, _ rows: CustomerRows, _ change: Change
    ) throws {
        let holdings = CustomerHoldings(
            subscriptions: rows.subscriptions, purchases: rows.purchases.compactMap(\.purchase))
        var stored: [StoredEntitlement.Key: StoredEntitlement] = [:]
        for entitlement in rows.entitlements { stored[entitlement.key] = entitlement }
        let unclear =
            rows.subscriptions.filter(\.grantIsUnclear).map(\.key)
            + rows.purchases.filter(\.grantIsUnclear).map(\.owner)
        for grant in access(holdings, by: catalogue) {
            let next = StoredEntitlement(grant, of: customer)
            guard let known = stored.removeValue(forKey: next.key) else {
                try write(next, over: nil)
                change(next.key, nil, next.expiresDate)
                continue
            }
            let outlasts = known.lastsLonger(than: next) && known.rests(onOneOf: unclear)
            guard !outlasts, known != next else { continue }
            try write(next, over: known)
            change(next.key, known.expiresDate, next.expiresDate)
        }
        for known in stored.values where !known.rests(onOneOf: unclear) {
            change(known.key, known.expiresDate, try end(known, holdings))
        }
    }

    /// Ends what no row or purchase of the customer grants any more.
    ///
    /// The end is when Apple signed the newest statement that is known. What rests on no statement at
    /// all has no end, and is deleted.
    ///
    /// - Returns: Its end; `nil` where it is deleted.
    private func end(
        _ known: StoredEntitlement, _ holdings: CustomerHoldings
    ) throws -> Timestamp?? {
        let signed =
            holdings.subscriptions.filter {
                $0.key.bundleID == known.key.bundleID && $0.key.environment == known.key.environment
            }.compactMap(\.signedDate)
            + holdings.purchases.filter {
                $0.bundleID == known.key.bundleID && $0.environment == known.key.environment
            }.compactMap(\.signedDate) + [known.signedDate].compactMap(\.self)
        guard let newest = signed.max() else {
            try db.executeCached(
                """
                DELETE FROM trueup_entitlements WHERE bundle_id = ? AND environment = ?
                    AND customer_id = ? AND entitlement = ?
                """, known.key.arguments)
            return nil
        }
        var ended = known
        ended.expiresDate = min(known.expiresDate ?? newest, newest)
        ended.gracePeriodExpiresDate = nil
        ended.willRenew = false
        guard ended != known else { return .some(known.expiresDate) }
        ended.signedDate = newest
        try write(ended, over: known)
        return .some(ended.expiresDate)
    }

    /// Deletes the changes of a customer, and the ended entitlements of one who has no row any more.
    func forgetUnlessStored(_ customer: String) throws {
        try db.execute(
            sql: "DELETE FROM trueup_entitlement_changes WHERE customer_id = ?",
            arguments: [customer])
        try db.execute(
            sql: """
                DELETE FROM trueup_entitlements WHERE customer_id = ?1
                    AND NOT EXISTS (SELECT 1 FROM subscriptions WHERE customer_id = ?1)
                    AND NOT EXISTS (SELECT 1 FROM purchases WHERE customer_id = ?1)
                """, arguments: [customer])
    }

    private func write(_ entitlement: StoredEntitlement, over known: StoredEntitlement?) throws {
        try db.executeCached(
            """
            INSERT INTO trueup_entitlements VALUES (
                ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
                ifnull((SELECT max(run_seq) FROM trueup_runs), 0))
            ON CONFLICT DO UPDATE SET expires_date = excluded.expires_date,
                grace_period_expires_date = excluded.grace_period_expires_date,
                original_transaction_id = excluded.original_transaction_id,
                product_id = excluded.product_id, will_renew = excluded.will_renew,
                signed_date = excluded.signed_date, ownership = excluded.ownership,
                changed_in = excluded.changed_in
            """,
            entitlement.key.arguments + entitlement.values)
        guard known != nil || listsNew else { return }
        try EntitlementChanges(db: db).add(entitlement, over: known)
    }
}

/// The stored rows of a customer.
private struct CustomerRows {
    var subscriptions: [LocalSubscription] = []
    var purchases: [LocalTransaction] = []
    var entitlements: [StoredEntitlement] = []

    /// How many customers' rows are in memory at once: to begin and end a statement for each costs more
    /// than to read a row.
    static let customersAtOnce = 100

    /// Reads the rows of some customers.
    ///
    /// - Returns: One for each customer, in their order.
    static func read(of customers: [String], _ db: Database) throws -> [CustomerRows] {
        var found = Array(repeating: CustomerRows(), count: customers.count)
        let list = String(decoding: try JSONEncoder().encode(customers), as: UTF8.self)
        func read(
            _ columns: String, of table: String, by index: String,
            _ add: (inout CustomerRows, Row) -> Void
        ) throws {
            let alias = table.suffix(1)
            try db.forEachRow(
                cached: """
                    SELECT \(columns), j.key FROM json_each(?) AS j
                    CROSS JOIN \(table) INDEXED BY \(index) ON \(alias).customer_id = j.value
                    """, [list]
            ) { row in
                guard let position = row.number(at: row.count - 1), position < found.count else {
                    return
                }
                add(&found[position], row)
            }
        }
        try read(
            LocalSubscription.columns(db), of: "subscriptions AS s", by: "subscriptions_by_customer"
        ) { $0.subscriptions.append(LocalSubscription($1)) }
        try read(
            LocalTransaction.columns(of: .purchases), of: "purchases AS t",
            by: "purchases_by_customer"
        ) { $0.purchases.append(LocalTransaction($1, of: .purchases)) }
        try read(
            StoredEntitlement.columns, of: "trueup_entitlements AS e",
            by: "trueup_entitlements_by_customer"
        ) { $0.entitlements.append(StoredEntitlement($1)) }
        return found
    }
}

/// The whole table, where it was never filled in or follows from another catalogue.
extension EntitlementBook {
    /// The catalogue as the table names it.
    private var name: String { catalogue?.digested.rendered ?? "" }

    /// Whether the entitlements follow from this catalogue.
    func isOfCatalogue() throws -> Bool { try knownCatalogue() == name }

    /// Whether every customer's entitlements were filled in once, by whatever catalogue.
    func isFilled() throws -> Bool { try ![nil, Self.filling].contains(knownCatalogue()) }

    /// The catalogue that they follow from; `nil` before the first filling began.
    private func knownCatalogue() throws -> String? {
        try db.text(cached: "SELECT catalogue FROM trueup_entitlement_catalogue")
    }

    /// The name of no catalogue: the table is being filled in for the first time.
    private static let filling = "being filled in"

    /// From now on triggers note whose rows change; before the first filling nothing is noted, as it
    /// goes through all customers.
    func noteFilling() throws {
        try db.execute(
            sql: "INSERT OR IGNORE INTO trueup_entitlement_catalogue VALUES (1, ?)",
            arguments: [Self.filling])
    }

    /// How many customers other programs' changes are noted of.
    static func waiting(_ db: Database) throws -> Int {
        try db.count("SELECT count(*) FROM trueup_entitlement_notes")
    }

    /// How many customers there are who have rows or entitlements.
    static func customers(_ db: Database) throws -> Int {
        let all = tables.map { "SELECT customer_id FROM \($0) WHERE customer_id > ''" }
        return try db.count("SELECT count(*) FROM (\(all.joined(separator: " UNION ")))")
    }

    /// The tables with the ids of customers.
    static let tables = ["subscriptions", "purchases", "trueup_entitlements"]

    /// The first customers behind one, who have rows or entitlements.
    func customers(after last: String, limit: Int) throws -> [String] {
        var names: [String] = []
        for table in Self.tables {
            names += try db.texts(
                cached: """
                    SELECT DISTINCT customer_id FROM \(table) WHERE customer_id > ?
                        AND typeof(customer_id) = 'text'
                    ORDER BY customer_id LIMIT ?
                    """, [last, limit])
        }
        // By bytes: equivalent spellings are different customers to the database.
        names.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        var found: [String] = []
        for name in names where found.last?.utf8.elementsEqual(name.utf8) != true {
            found.append(name)
        }
        return Array(found.prefix(limit))
    }

    func noteCatalogue() throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO trueup_entitlement_catalogue VALUES (1, ?)",
            arguments: [name])
    }
}

extension SQLiteStore {
    /// Brings all entitlements up to date: of customers whose rows other programs changed, and of every
    /// customer where the catalogue is another one or the table was never filled in.
    ///
    /// A kill leaves a part; the next call goes through all customers again.
    ///
    /// - Parameter progress: Takes how many customers are done, and of how many.
    /// - Throws: `StoreError`.
    package func bringEntitlementsUpToDate(
        progress: (Int, Int) -> Void = { _, _ in }
    ) async throws(StoreError) {
        let doing = "bringing the entitlements up to date"
        let catalogue = catalogue
        var done = 0
        var total = try await read(doing, EntitlementBook.waiting)
        func note(_ customers: Int) {
            done = min(total, done + customers)
            if total > 0 { progress(done, total) }
        }
        try await inShortChunks(
            doing, from: 0,
            { _, limit, db in
                let book = EntitlementBook(db: db, catalogue: catalogue)
                return try book.settle(after: 0, limit: limit) == limit ? 0 : nil
            }, noting: note)
        let (isOfCatalogue, isFilled) = try await read(doing) { db in
            let book = EntitlementBook(db: db, catalogue: catalogue)
            return (try book.isOfCatalogue(), try book.isFilled())
        }
        guard !isOfCatalogue else { return }
        try await write(doing) { db in
            try EntitlementBook(db: db, catalogue: catalogue).noteFilling()
        }
        (done, total) = (0, try await read(doing, EntitlementBook.customers))
        try await inShortChunks(
            doing, from: "",
            { last, limit, db in
                let book = EntitlementBook(db: db, catalogue: catalogue, listsNew: isFilled)
                let customers = try book.customers(after: last, limit: limit)
                try book.update(customers)
                guard customers.count == limit else {
                    try book.noteCatalogue()
                    return nil
                }
                return customers.last
            }, noting: note)
    }
}

extension LocalTransaction {
    /// The key that an entitlement names the purchase by.
    fileprivate var owner: SubscriptionKey {
        SubscriptionKey(
            bundleID: key.bundleID, environment: key.environment,
            originalTransactionID: originalTransactionID)
    }
}

extension StoredEntitlement.Key {
    var arguments: StatementArguments { [bundleID, environment, customerID, entitlement] }
}

/// Rows of `trueup_entitlements`.
extension StoredEntitlement {
    init(_ grant: EntitlementAccess, of customer: String) {
        self.init(
            key: Key(
                bundleID: grant.bundleID, environment: grant.environment, customerID: customer,
                entitlement: grant.entitlement),
            expiresDate: grant.until, gracePeriodExpiresDate: grant.graceUntil,
            originalTransactionID: grant.originalTransactionID, productID: grant.productID,
            willRenew: grant.willRenew, signedDate: grant.asOf, ownership: grant.ownership)
    }

    /// The columns that `init(_:)` reads, of the table `e`.
    static let columns = """
        e.bundle_id, e.environment, e.customer_id, e.entitlement, e.expires_date,
        e.grace_period_expires_date, e.original_transaction_id, e.product_id, e.will_renew,
        e.signed_date, e.ownership
        """

    init(_ row: Row) {
        var columns = RowColumns(row)
        self.init(
            key: Key(
                bundleID: columns.requiredText(), environment: columns.requiredText(),
                customerID: columns.requiredText(), entitlement: columns.requiredText()),
            expiresDate: columns.time(), gracePeriodExpiresDate: columns.time(),
            originalTransactionID: columns.requiredText(), productID: columns.requiredText(),
            willRenew: columns.integer().map { $0 != 0 }, signedDate: columns.time(),
            ownership: columns.text())
    }

    /// The columns that `columns` names after those of the key, to bind.
    var values: StatementArguments {
        [
            expiresDate?.unixMilliseconds, gracePeriodExpiresDate?.unixMilliseconds,
            originalTransactionID, productID, willRenew, signedDate?.unixMilliseconds, ownership,
        ]
    }

    func lastsLonger(than other: StoredEntitlement) -> Bool {
        (expiresDate?.unixMilliseconds ?? .max) > (other.expiresDate?.unixMilliseconds ?? .max)
    }

    func rests(onOneOf keys: [SubscriptionKey]) -> Bool {
        keys.contains {
            $0.bundleID == key.bundleID && $0.environment == key.environment
                && $0.originalTransactionID == originalTransactionID
        }
    }
}
