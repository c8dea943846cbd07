package import Subscriptions
import Synchronization

extension PostgresCompany {
    /// The tables and views that the user may see, without the server's own and trueup's.
    ///
    /// - Returns: By schema and name.
    /// - Throws: `StoreError` when they cannot be read.
    package func tables() throws(StoreError) -> [CompanyTableDescription] {
        try state.withLock { state throws(StoreError) in
            guard state.unit == nil else { throw UnitWork.openUnit }
            return try state.keeper.tables()
        }
    }

    /// Looks whether the mapping holds against the live schema.
    ///
    /// - Parameter mayWrite: Whether corrections will be written: then our ledger is prepared as
    ///   well.
    /// - Throws: `StoreError.schema`, naming the column.
    package func check(mayWrite: Bool) throws(StoreError) {
        try state.withLock { state throws(StoreError) in
            guard state.unit == nil else { throw UnitWork.openUnit }
            let found = try state.keeper.tables(named: mapping.table)
            guard let table = found.first else {
                throw .schema(
                    "The database \(state.keeper.connector.address) has no table or view "
                        + "\(mapping.table) that its user may see; nothing was read or written. "
                        + "Adapt store.subscriptions.table, or grant the right.")
            }
            let held = MappingCheck(mapping, against: table, for: .postgresql)
            if let problem = held.problem(mayWrite: mayWrite) {
                throw .schema(
                    "\(mapping.table) of \(state.keeper.connector.address): \(problem); nothing was "
                        + "read or written. Adapt store.subscriptions to the change, or undo it.")
            }
            if let obstacle = try state.keeper.rowSecurity(of: mapping.table) {
                throw .schema(
                    "\(mapping.table) of \(state.keeper.connector.address): \(obstacle); nothing was "
                        + "read or written.")
            }
            if let obstacle = try obstacleToEntitlements(mayWrite: mayWrite, &state.keeper) {
                throw .schema(obstacle)
            }
            state.precision = held.precision
            if mayWrite { try state.keeper.bringUpToDate() }
        }
    }

    /// How much of a second the mapped columns keep, as `check` found it.
    package var precision: TimePrecision { state.withLock(\.precision) }
}

extension PostgresCompany {
    /// Returns what keeps a run that writes from working there: it reads, and tries writes in a
    /// transaction that it rolls back.
    ///
    /// - Returns: The missing right and how it is given; `nil` where none is missing.
    /// - Throws: `StoreError` when the server cannot be asked.
    package func obstacleToLedger() throws(StoreError) -> String? {
        try state.withLock { state throws(StoreError) in
            guard state.unit == nil else { throw UnitWork.openUnit }
            if let obstacle = try state.keeper.obstacleToOurSchema() { return obstacle }
            return try state.keeper.obstacleToWriting(statements.trials)
        }
    }
}

/// The tables of a PostgreSQL database, before there is a mapping.
package final class PostgresSchema: Sendable {
    private let keeper: Mutex<SessionKeeper>

    /// - Parameter connector: Opens sessions.
    package init(_ connector: PostgresConnector) {
        keeper = Mutex(SessionKeeper(connector, limits: SessionLimits()))
    }

    /// The tables and views that the user may see, without the server's own and trueup's, and
    /// without the parts of others: a mapping of a partition would miss the rows of its
    /// neighbours.
    ///
    /// - Returns: By schema and name.
    /// - Throws: `StoreError` when they cannot be read.
    package func tables() throws(StoreError) -> [CompanyTableDescription] {
        try keeper.withLock { keeper throws(StoreError) in try keeper.tables(withParts: false) }
    }

    /// Different texts among the first rows of a column.
    ///
    /// - Parameters:
    ///   - column: The company's.
    ///   - table: Where it is.
    /// - Returns: A few, in order.
    /// - Throws: `StoreError` when they cannot be read.
    package func words(
        of column: String, in table: CompanyTableName
    ) throws(StoreError) -> [String] {
        let sql = MappedStatements.words(of: column, in: table, for: .postgresql)
        return try keeper.withLock { keeper throws(StoreError) in
            try keeper.read("reading the values of a column of \(table)") {
                session throws(ServerFailure) in
                try session.run(sql, []).rows.compactMap { $0.first.flatMap(\.self) }
            }
        }
    }
}
