import ServerConnections
package import Subscriptions

extension StoreError {
    /// Translates what a PostgreSQL server says; nothing else of this module gives errors a
    /// meaning.
    ///
    /// - Parameters:
    ///   - failure: What the server said.
    ///   - doing: What was being done, to follow "while".
    ///   - address: Which server it is.
    ///   - tables: Whose tables were spoken of.
    package init(
        _ failure: ServerFailure, doing: String, at address: PostgresAddress,
        about tables: ServerTables = .company
    ) { self.init(failure, doing: doing, at: address.description, about: tables) }

    init(_ failure: ServerFailure, doing: String, at server: String, about tables: ServerTables) {
        let said =
            failure.state.description.isEmpty || failure.state == .stopped
            ? "(\(failure.words))" : "(PostgreSQL \(failure.state): \(failure.words))"
        if failure.endsSession, let refusal = PoolerRefusal(failure.words) {
            self = .schema(
                "PgBouncer before the database \(server) refuses \(refusal.advice) Nothing of this "
                    + "step was written. \(said)")
            return
        }
        guard !failure.isOfFullPooler else {
            self = .unavailable(
                "PgBouncer before the database \(server) had no session with the server for as long "
                    + "as its query_wait_timeout allows while \(doing); nothing of this step was "
                    + "written. With pool_mode = session a run needs four at once: raise "
                    + "default_pool_size, or set pool_mode = transaction; then run again. \(said)")
            return
        }
        self.init(
            failure, doing: doing, at: server, said: said,
            ServerWording(
                checks: "store.url and the rights of the user",
                readOnly: "It is a standby, or default_transaction_read_only is on: point "
                    + "store.url at the primary",
                locked: "Find the session in pg_stat_activity", schema: tables.advice,
                rights: tables.adviceOnRights))
    }
}

/// Whose tables a statement is about, for the advice where they are not as expected.
package enum ServerTables: Sendable {
    case company
    /// Those of the books, which only trueup writes.
    case books

    var advice: String {
        switch self {
        case .company: "Adapt store.subscriptions to the change, or undo it."
        case .books:
            "They are trueup's own: undo the change, or restore the database from a backup "
                + "(\(DocumentationPage.backup))."
        }
    }

    var adviceOnRights: String {
        switch self {
        case .company: "`trueup doctor` names the rights that are needed."
        case .books:
            "It must own the tables of the schema trueup, or have SELECT, INSERT, UPDATE and DELETE on "
                + "all of them (\(DocumentationPage.postgresql))."
        }
    }
}
