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
    ) {
        let said =
            failure.state.description.isEmpty || failure.state == .stopped
            ? "(\(failure.words))" : "(PostgreSQL \(failure.state): \(failure.words))"
        let server = address.description
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
        switch failure.state.meaning {
        case .stopped:
            self = .stopped(
                "A signal ended the wait for the database \(server) while \(doing). The database did "
                    + "not answer, and nothing of this step counts as written: the next run checks that "
                    + "first. Check the server, then run the job again: it continues where it stopped. "
                    + said)
        case _ where failure.endsSession, .unavailable:
            self = .unavailable(
                "The database \(server) could not be reached, ended the connection or gave no "
                    + "answer while \(doing). Check the server, store.url and the rights of the user, then "
                    + "run the job again: it continues where it stopped. \(said)")
        case .readOnly:
            self = .unavailable(
                "The database \(server) may only be read while \(doing); nothing of this step was "
                    + "written. It is a standby, or default_transaction_read_only is on: point "
                    + "store.url at the primary, then run the job again: it continues where it stopped. "
                    + said)
        case .locked:
            self = .busy(
                "Another program kept a table or row of \(server) locked while \(doing); nothing of "
                    + "this step was written. Find the session in pg_stat_activity (a migration, a "
                    + "transaction that was left open) and run again. \(said)")
        case .tooSlow:
            self = .busy(
                "A statement took too long while \(doing); nothing of this step was written. Check the "
                    + "load of \(server), and with `trueup doctor` the index on the key, then run "
                    + "again. \(said)")
        case .again:
            self = .busy(
                "Other transactions kept getting in the way while \(doing); nothing of "
                    + "this step was written. Run again when \(server) is less busy. \(said)")
        case .schema:
            self = .schema(
                "The tables of \(server) are not as expected while \(doing); nothing of this step "
                    + "was written. \(tables.advice) \(said)")
        case .forbidden:
            self = .schema(
                "The user of \(server) lacks a right while \(doing); nothing of this step was "
                    + "written. \(tables.adviceOnRights) \(said)")
        case .full:
            self = .notWritten(
                "The server of \(server) has a full or broken disk while \(doing); nothing of this step "
                    + "was written. Free space and run the job again: it continues where it stopped. "
                    + said)
        case .fenced:
            self = .busy(
                "Another worker has the lease of \(failure.words) now, because this one did not renew "
                    + "it in time. Nothing of this step was written. The other worker continues, so there "
                    + "is nothing to do, unless this machine keeps pausing its processes."
            )
        case .leased:
            self = .busy(
                "Another worker is active: \(failure.words). Apple was not asked, and nothing was "
                    + "written. Wait for it to end; the lease of a killed worker ends by itself.")
        case .value, .duplicate, .other:
            self = .inconsistent(
                "The database \(server) refused a statement while \(doing); nothing of this step "
                    + "was written. \(said)")
        }
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
