package import Subscriptions

extension StoreError {
    /// Translates what a server of MySQL says; nothing else of this module gives errors a meaning.
    ///
    /// - Parameters:
    ///   - failure: What the server said.
    ///   - doing: What was being done, to follow "while".
    ///   - address: Which server it is.
    package init(_ failure: MySQLFailure, doing: String, at address: MySQLAddress) {
        let said = failure.number == 0 ? "(\(failure.words))" : "(MySQL \(failure.said))"
        let server = address.description
        switch failure.meaning {
        case .setup:
            self = .schema(
                "The password for the database \(server) could not be read: \(failure.words). "
                    + "Nothing of this step was written.")
        case .stopped:
            self = .stopped(
                "A signal ended the wait for the database \(server) while \(doing). The database did "
                    + "not answer, and nothing of this step counts as written: the next run checks that "
                    + "first. Check the server, then run the job again: it continues where it stopped. "
                    + said)
        case _ where failure.endsSession, .unavailable:
            self = .unavailable(
                "The database \(server) could not be reached, ended the connection or gave no "
                    + "answer while \(doing). Check the server, store.url, the password and the rights "
                    + "of the user, then run the job again: it continues where it stopped. \(said)")
        case .readOnly:
            self = .unavailable(
                "The database \(server) may only be read while \(doing); nothing of this step was "
                    + "written. It is a replica, or read_only is on: point store.url at the primary, or "
                    + "run SET GLOBAL read_only = 0 there, then run the job again: it continues where it "
                    + "stopped. \(said)")
        case .locked:
            self = .busy(
                "Another program kept a table or row of \(server) locked while \(doing); nothing of "
                    + "this step was written. Find the transaction in information_schema.INNODB_TRX (a "
                    + "migration, a transaction that was left open) and run again. \(said)")
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
                    + "was written. Adapt store.subscriptions to the change, or undo it. \(said)")
        case .forbidden:
            self = .schema(
                "The user of \(server) lacks a right while \(doing); nothing of this step was "
                    + "written. `trueup doctor` names the rights that are needed. \(said)")
        case .full:
            self = .notWritten(
                "The server of \(server) has a full or broken disk while \(doing); nothing of this step "
                    + "was written. Free space and run the job again: it continues where it stopped. "
                    + said)
        case .duplicate, .other:
            self = .inconsistent(
                "The database \(server) refused a statement while \(doing); nothing of this step "
                    + "was written. \(said)")
        }
    }
}
