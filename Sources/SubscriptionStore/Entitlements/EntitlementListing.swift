import GRDB
package import Subscriptions

/// The entitlements that a reader wants.
package struct EntitlementFilter: Hashable, Sendable {
    package var customerID: String?
    package var bundleID: String?
    /// Only what may be used at this moment.
    package var activeAt: Timestamp?
    /// Only what the report of this run lists, or changed in this run or later, by the run's number.
    package var changedIn: Int64?

    package init() {}

    /// The entitlements `e`, where only some changed: these alone, by the index of changes.
    ///
    /// What a run takes in before it is recorded is dated by the run before it, but its report lists it.
    fileprivate var source: (sql: String, arguments: StatementArguments) {
        guard let changedIn else { return ("trueup_entitlements AS e", []) }
        let key = ["bundle_id", "environment", "customer_id", "entitlement"]
        func columns(_ table: String) -> String {
            key.map { "\(table).\($0)" }.joined(separator: ", ")
        }
        let sql = """
            (SELECT \(columns("n"))
                FROM trueup_entitlements AS n INDEXED BY trueup_entitlements_by_change
                WHERE n.changed_in >= ?
                UNION SELECT \(columns("c")) FROM trueup_run_entitlements AS r
                CROSS JOIN trueup_entitlement_changes AS c ON c.change > r.after
                WHERE r.run_seq = ?) AS k
            CROSS JOIN trueup_entitlements AS e
                ON \(key.map { "e.\($0) = k.\($0)" }.joined(separator: " AND "))
            """
        return (sql, [changedIn, changedIn])
    }

    fileprivate var condition: (sql: String, arguments: StatementArguments) {
        let all: [(sql: String, value: (any DatabaseValueConvertible)?)] = [
            ("e.customer_id = ?", customerID),
            ("e.bundle_id = ?", bundleID),
            ("(e.expires_date IS NULL OR e.expires_date > ?)", activeAt?.unixMilliseconds),
        ]
        let terms = all.filter { $0.value != nil }
        return (
            (["true"] + terms.map(\.sql)).joined(separator: " AND "),
            StatementArguments(terms.map(\.value))
        )
    }
}

extension SQLiteStore {
    /// Hands over the entitlements that match, by bundle, environment, customer and name.
    ///
    /// - Parameters:
    ///   - filter: Which ones.
    ///   - company: The company's database, where services read the entitlements there: each is shown
    ///     as it is there, with the ownership as it is here.
    ///   - body: Takes one.
    /// - Throws: `StoreError`, or an error of `body`.
    package func forEachEntitlement(
        matching filter: EntitlementFilter, in company: (any CompanyDatabase)? = nil,
        _ body: (StoredEntitlement) throws -> Void
    ) throws {
        guard let company else { return try forEachStored(matching: filter, body) }
        var wider = filter
        wider.activeAt = nil
        var page: [StoredEntitlement] = []
        func showPage() throws {
            guard !page.isEmpty else { return }
            let shown = try company.entitlements { $0.rows(of: page.map(\.key)) }
            let byKey = Dictionary(shown.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
            for stored in page {
                guard let there = byKey[stored.key]?.entitlement(ownership: stored),
                    filter.activeAt.map(there.isActive) ?? true
                else { continue }
                try body(there)
            }
            page = []
        }
        try forEachStored(matching: wider) { stored in
            page.append(stored)
            if page.count == StoreLimits.correctionsPerChunk { try showPage() }
        }
        try showPage()
    }

    private func forEachStored(
        matching filter: EntitlementFilter, _ body: (StoredEntitlement) throws -> Void
    ) throws {
        try stream("reading the entitlements") { db in
            let (source, condition) = (filter.source, filter.condition)
            try db.forEachRow(
                """
                SELECT \(StoredEntitlement.columns) FROM \(source.sql)
                WHERE \(condition.sql)
                ORDER BY e.bundle_id, e.environment, e.customer_id, e.entitlement
                """, source.arguments + condition.arguments
            ) { row in try body(StoredEntitlement(row)) }
        }
    }

    /// Whether any row or entitlement is of this customer.
    package func knows(customer: String) throws(StoreError) -> Bool {
        try view("looking for a customer") { db in
            try EntitlementBook.tables.contains { table in
                try db.holds("\(table) WHERE customer_id = ?", [customer])
            }
        }
    }

    /// Whether the stored entitlements are those of the rows and the catalogue as they are now.
    ///
    /// - Returns: `isOfCatalogue` is `false` where they were never filled in, or follow from another
    ///   catalogue; `waiting` are the customers whose rows other programs changed since.
    /// - Throws: `StoreError` when they cannot be read.
    package func entitlementState() throws(StoreError) -> (isOfCatalogue: Bool, waiting: Int) {
        try view("looking at the entitlements") { db in
            (
                try EntitlementBook(db: db, catalogue: catalogue).isOfCatalogue(),
                try EntitlementBook.waiting(db)
            )
        }
    }

    /// The number of a run, by which changes are dated; `nil` for a run that is not kept.
    ///
    /// - Throws: `.unavailable` where the name is that of a declared restore.
    package func number(ofRun runID: String) throws(StoreError) -> Int64? {
        try view("looking for a run") { db in
            let number = try db.integer(
                "SELECT run_seq FROM trueup_runs WHERE run_id = ?", [runID])
            guard number == nil, let text = try Self.declaration(reportedAs: runID, db) else {
                return number
            }
            throw StoreError.unavailable(text)
        }
    }
}
