package import Subscriptions
import Synchronization

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
