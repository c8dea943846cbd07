import Synchronization

/// A session that several share, one call at a time: each session of a run is one that PgBouncer in
/// session mode takes from the server.
package final class SharedSession: Sendable {
    let keeper: Mutex<SessionKeeper>

    /// A server that is away is not waited for: what is done here is done again, or only a note.
    ///
    /// - Parameter connector: Opens it.
    package init(_ connector: PostgresConnector) {
        var limits = SessionLimits()
        limits.pausesMilliseconds = [50, 200, 800]
        keeper = Mutex(SessionKeeper(connector, limits: limits))
    }
}
