import GRDB
package import Subscriptions

/// The company's table of entitlements, which `store.entitlements` names: it is kept as
/// `trueup_entitlements` is.
///
/// What corrections change is written in their transaction, by `CompanyUnit`. The rest, which other
/// programs' rows or a new catalogue changed, is written here before a run checks anything. So a kill,
/// or a table that was restored or changed by hand, needs no bookkeeping.
extension SQLiteStore {
    /// Makes the company's table of entitlements equal to trueup's own.
    ///
    /// - Parameter apps: Whose entitlements; `nil` for all.
    /// - Throws: `StoreError` where one of the databases cannot be read or written.
    func keepCompanyEntitlements(of apps: [AppIdentity]?) async throws(StoreError) {
        guard let company, company.mapping.entitlements != nil else { return }
        try await bringEntitlementsUpToDate()
        let held = try await correctCompanyEntitlements(of: apps, company)
        let doing = "comparing the entitlements"
        let all = try await read(doing) { db in
            let (condition, arguments) = Self.isOf(apps)
            return try db.count(
                "SELECT count(*) FROM trueup_entitlements AS e WHERE \(condition)", arguments)
        }
        guard held < all else { return }
        try await addCompanyEntitlements(of: apps, company)
    }

    /// Writes the rows of the table that are not as they are here, and deletes those that are not
    /// here.
    ///
    /// - Returns: How many rows the table has then that are here as well.
    private func correctCompanyEntitlements(
        of apps: [AppIdentity]?, _ company: CompanyLink
    ) async throws(StoreError) -> Int {
        var held = 0
        var last: StoredEntitlement.Key?
        while true {
            let position = last
            let page = try await blocking { () throws(StoreError) in
                try company.database.entitlements {
                    $0.page(after: position, limit: StoreLimits.rowsPerChunk, of: apps)
                }
            }
            let changes = try await read("comparing the entitlements") { [catalogue] db in
                let book = EntitlementBook(db: db, catalogue: catalogue)
                return try page.compactMap { row -> CompanyEntitlementChange? in
                    guard let stored = try book.stored(row.key) else { return .deleted(row.key) }
                    return CompanyEntitlement(stored) == row ? nil : .kept(stored)
                }
            }
            try await write(changes, to: company)
            held += page.count
            for case .deleted in changes { held -= 1 }
            guard page.count == StoreLimits.rowsPerChunk, let end = page.last?.key else {
                return held
            }
            last = end
        }
    }

    /// Writes the rows that the table lacks.
    private func addCompanyEntitlements(
        of apps: [AppIdentity]?, _ company: CompanyLink
    ) async throws(StoreError) {
        var last = StoredEntitlement.Key(
            bundleID: "", environment: "", customerID: "", entitlement: "")
        while true {
            let position = last
            let page = try await read("reading the entitlements") { db in
                let (condition, arguments) = Self.isOf(apps)
                return try db.rows(
                    """
                    SELECT \(StoredEntitlement.columns) FROM trueup_entitlements AS e
                    WHERE (e.bundle_id, e.environment, e.customer_id, e.entitlement)
                        > (?, ?, ?, ?) AND \(condition)
                    ORDER BY e.bundle_id, e.environment, e.customer_id, e.entitlement LIMIT ?
                    """, position.arguments + arguments + [StoreLimits.correctionsPerChunk]
                ).map { StoredEntitlement($0) }
            }
            guard let end = page.last?.key else { return }
            let held = try await blocking { () throws(StoreError) in
                Set(try company.database.entitlements { $0.rows(of: page.map(\.key)) }.map(\.key))
            }
            try await write(
                page.filter { !held.contains($0.key) }.map { .kept($0) }, to: company)
            last = end
        }
    }

    private static func isOf(_ apps: [AppIdentity]?) -> (sql: String, arguments: StatementArguments)
    {
        guard let apps else { return ("true", []) }
        guard !apps.isEmpty else { return ("false", []) }
        return ("(e.bundle_id, e.environment) IN (VALUES \(apps.marks))", apps.arguments)
    }

    /// Writes entitlements in transactions of their own; what the table refuses is noted, and the
    /// next run tries it again.
    private func write(
        _ changes: [CompanyEntitlementChange], to company: CompanyLink
    ) async throws(StoreError) {
        for some in changes.chunked(by: StoreLimits.correctionsPerChunk).map(Array.init) {
            guard try await waitForCompanyDatabase() else { return }
            try await blocking { () throws(StoreError) in
                guard try company.refusal(of: some) != nil else { return }
                for change in some {
                    guard let words = try company.refusal(of: [change]) else { continue }
                    company.noteRefusalOfEntitlement(because: words)
                }
            }
        }
    }

    /// Deletes the entitlements of a customer that are not here any more from the company's table.
    ///
    /// - Parameters:
    ///   - customer: The `customer_id`.
    ///   - apps: Whose entitlements are kept here.
    /// - Throws: `StoreError` where one of the databases cannot be read or written.
    package func eraseCompanyEntitlements(
        ofCustomer customer: String, in apps: [AppIdentity]
    ) async throws(StoreError) {
        guard let company, company.mapping.entitlements != nil else { return }
        let found = try await blocking { () throws(StoreError) in
            let obstacle = try company.database.obstacleToEntitlements(mayWrite: false)
            if let obstacle { throw .schema(obstacle) }
            return try company.database.entitlements { $0.rows(ofCustomer: customer) }
        }
        let gone = try await read("looking for a customer's entitlements") { [catalogue] db in
            let book = EntitlementBook(db: db, catalogue: catalogue)
            return try found.map(\.key).filter { key in
                try book.stored(key) == nil
                    && apps.contains {
                        $0.bundleID == key.bundleID && $0.environment.rawValue == key.environment
                    }
            }
        }
        try await write(gone.map { .deleted($0) }, to: company)
    }
}

extension CompanyLink {
    /// Writes entitlements in one transaction; the reason where the table does not take them.
    fileprivate func refusal(
        of changes: [CompanyEntitlementChange]
    ) throws(StoreError) -> String? {
        do throws(StoreError) {
            try database.begin()
            switch try database.commit(keeping: changes) {
            case .committed: return nil
            case .refused(let words): return words
            case .stale: return "another program changed it meanwhile"
            case .unknown:
                throw .unavailable(
                    "The connection to your database was lost while entitlements were committed. "
                        + "Whether they were written is not known. Run the job again: it writes "
                        + "what is missing.")
            }
        } catch {
            database.rollBack()
            throw error
        }
    }
}
