package import Subscriptions
import Synchronization

/// The company's table of entitlements, which `store.entitlements` names.
extension PostgresCompany {
    /// The entitlements behind a key, in the order of the database; none where no table is named.
    ///
    /// - Parameters:
    ///   - last: The last one of the page before; `nil` from the beginning.
    ///   - limit: How many at most.
    ///   - apps: Whose; `nil` for all.
    /// - Returns: The rows.
    /// - Throws: `StoreError` when they cannot be read.
    package func entitlements(
        after last: StoredEntitlement.Key?, limit: Int, of apps: [AppIdentity]?
    ) throws(StoreError) -> [CompanyEntitlement] {
        try entitlements { $0.page(after: last, limit: limit, of: apps) }
    }

    /// The entitlements of these keys that the table has.
    ///
    /// - Parameter keys: In any order.
    /// - Returns: The rows.
    /// - Throws: `StoreError` when they cannot be read.
    package func entitlements(
        of keys: [StoredEntitlement.Key]
    ) throws(StoreError) -> [CompanyEntitlement] {
        keys.isEmpty ? [] : try entitlements { $0.rows(of: keys) }
    }

    /// The entitlements of one customer.
    ///
    /// - Parameter customer: The `customer_id`.
    /// - Returns: The rows.
    /// - Throws: `StoreError` when they cannot be read.
    package func entitlements(
        ofCustomer customer: String
    ) throws(StoreError) -> [CompanyEntitlement] {
        try entitlements { $0.rows(ofCustomer: customer) }
    }

    private func entitlements(
        _ query: (EntitlementStatements) -> MappedStatement
    ) throws(StoreError) -> [CompanyEntitlement] {
        guard let entitlements else { return [] }
        return entitlements.rows(
            of: try texts("reading the entitlements in \(entitlements.name)", query(entitlements)))
    }

    /// Returns what keeps a run from keeping entitlements in the table that `store.entitlements`
    /// names.
    ///
    /// - Parameter mayWrite: Whether corrections will be written.
    /// - Returns: The problem and what to do; `nil` for nothing, and where no table is named.
    /// - Throws: `StoreError` when the server cannot be asked.
    package func obstacleToEntitlements(mayWrite: Bool) throws(StoreError) -> String? {
        try state.withLock { state throws(StoreError) in
            guard state.unit == nil else { throw UnitWork.openUnit }
            return try obstacleToEntitlements(mayWrite: mayWrite, &state.keeper)
        }
    }

    func obstacleToEntitlements(
        mayWrite: Bool, _ keeper: inout SessionKeeper
    ) throws(StoreError) -> String? {
        guard let entitlements else { return nil }
        let place = "\(keeper.connector.address)"
        let found = try keeper.tables(named: entitlements.name).first
        if let obstacle = entitlements.obstacle(in: found, of: place, mayWrite: mayWrite) {
            return obstacle
        }
        let obstacle = try keeper.rowSecurity(of: entitlements.name)
        let denied =
            try obstacle == nil && mayWrite ? keeper.obstacleToWriting(entitlements.trials) : nil
        return (obstacle ?? denied).map {
            "\(entitlements.name) of \(place): \($0); nothing was read or written."
        }
    }
}
