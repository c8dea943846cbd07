import GRDB
package import Subscriptions

/// The table of entitlements in the company's file, which `store.entitlements` names.
extension SQLiteCompanyDatabase {
    /// Writes entitlements; the reason where the table does not take them.
    func keep(
        _ changes: [CompanyEntitlementChange], _ db: Database
    ) throws -> String? {
        guard let entitlements, !changes.isEmpty else { return nil }
        do {
            for statement in entitlements.write(changes) { try execute(statement, db) }
        } catch let refused as RowRefused {
            return entitlements.refusal(refused.reason)
        }
        let found = try Self.texts(entitlements.rows(of: changes.map(\.key)), db)
        return entitlements.refusal(of: changes, found: entitlements.rows(of: found))
    }

    package func entitlements(
        after last: StoredEntitlement.Key?, limit: Int, of apps: [AppIdentity]?
    ) throws(StoreError) -> [CompanyEntitlement] {
        try entitlements { $0.page(after: last, limit: limit, of: apps) }
    }

    package func entitlements(
        of keys: [StoredEntitlement.Key]
    ) throws(StoreError) -> [CompanyEntitlement] {
        keys.isEmpty ? [] : try entitlements { $0.rows(of: keys) }
    }

    package func entitlements(
        ofCustomer customer: String
    ) throws(StoreError) -> [CompanyEntitlement] {
        try entitlements { $0.rows(ofCustomer: customer) }
    }

    private func entitlements(
        _ query: (EntitlementStatements) -> MappedStatement
    ) throws(StoreError) -> [CompanyEntitlement] {
        guard let entitlements else { return [] }
        let found = try perform("reading the entitlements in \(entitlements.name)") { db in
            try Self.texts(query(entitlements), db)
        }
        return entitlements.rows(of: found)
    }

    package func obstacleToEntitlements(mayWrite: Bool) throws(StoreError) -> String? {
        guard let entitlements else { return nil }
        return entitlements.obstacle(
            in: try tables(named: entitlements.name.name).first, of: path, mayWrite: mayWrite)
    }
}
