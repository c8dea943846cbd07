package import Subscriptions
import Synchronization

/// What a PostgreSQL database has of tables, before there is a mapping.
package final class PostgresSchema: Sendable {
    private let keeper: Mutex<SessionKeeper>

    /// - Parameter connector: Opens sessions.
    package init(_ connector: PostgresConnector) {
        keeper = Mutex(SessionKeeper(connector, limits: SessionLimits()))
    }

    /// The tables and views that the user may see, without the server's own and ours.
    ///
    /// - Returns: By schema and name.
    /// - Throws: `StoreError` when they cannot be read.
    package func tables() throws(StoreError) -> [CompanyTableDescription] {
        try keeper.withLock { keeper throws(StoreError) in try keeper.tables() }
    }
}
