package import Subscriptions

/// The meaning of a server's error for the caller.
package enum ServerMeaning: Hashable, Sendable {
    /// The server does not answer, or refuses the login.
    case unavailable
    /// A standby or replica, or a session that may only read.
    case readOnly
    /// Another program holds a lock for longer than our patience.
    case locked
    /// A statement took longer than its time limit.
    case tooSlow
    /// Two transactions were in each other's way; the same again may succeed.
    case again
    /// A table, column, type or function is not there, or not of that kind.
    case schema
    /// A right is missing.
    case forbidden
    /// No room, or a file that cannot be written.
    case full
    /// The server refuses this one value: a constraint, a trigger, a form.
    case value
    /// A row with this key is there.
    case duplicate
    /// Another worker has taken the work over.
    case fenced
    /// Another worker is at it.
    case leased
    /// A signal ended the wait for an answer.
    case stopped
    /// A file of this machine, such as that of the password, cannot be used.
    case setup
    case other
}

/// The reason why a statement failed, as a kind of server says it.
package protocol ServerFault: Error {
    var meaning: ServerMeaning { get }
    /// Whether the session is over: what was sent last may or may not have been done.
    var endsSession: Bool { get }
    /// Whether it is about the one row that was written, and nothing else is in the way.
    var isOfOneRow: Bool { get set }
    /// Whether a statement that wrote one row may have failed with it because of that row alone.
    var mayBeOfOneRow: Bool { get }
    /// The server's words, without the values that it repeats: they are personal data.
    var words: String { get }
    /// The server's name of the error and its words, for a person.
    var said: String { get }

    /// A failure after which the same may succeed.
    static func again(_ words: String) -> Self

    /// The error of a run that it leads to.
    ///
    /// - Parameters:
    ///   - doing: To follow "while".
    ///   - place: The server and the database.
    /// - Returns: The error, with its exit status.
    func error(doing: String, at place: String) -> StoreError
}

extension StoreError {
    /// Translates what a server says about the company's tables or trueup's.
    ///
    /// - Parameters:
    ///   - failure: What the server said.
    ///   - doing: What was being done, to follow "while".
    ///   - server: The server and the database.
    ///   - said: Name and words of the failure, in brackets.
    ///   - checks: The things to check where the server gives no answer.
    ///   - readOnly: Why it may only be read, and what to do.
    ///   - locked: How to find the program that keeps a lock.
    ///   - schema: What to do where the tables are not as expected.
    ///   - rights: What to do where a right is missing.
    package init(
        _ failure: some ServerFault, doing: String, at server: String, said: String,
        checks: String, readOnly: String, locked: String, schema: String, rights: String
    ) {
        let notWritten = "while \(doing); nothing of this step was written."
        let again = "then run the job again: it continues where it stopped. " + said
        switch failure.meaning {
        case .setup:
            self = .schema(
                "The password for the database \(server) could not be read: \(failure.words). "
                    + "Nothing of this step was written.")
        case .stopped:
            self = .stopped(
                "A signal ended the wait for the database \(server) while \(doing). The database did "
                    + "not answer, and nothing of this step counts as written: the next run checks that "
                    + "first. Check the server, \(again)")
        case _ where failure.endsSession, .unavailable:
            self = .unavailable(
                "The database \(server) could not be reached, ended the connection or gave no "
                    + "answer while \(doing). Check the server, \(checks), \(again)")
        case .readOnly:
            self = .unavailable(
                "The database \(server) may only be read \(notWritten) \(readOnly), \(again)"
            )
        case .locked:
            self = .busy(
                "Another program kept a table or row of \(server) locked \(notWritten) "
                    + "\(locked) (a migration, a transaction that was left open) and run again. "
                    + said)
        case .tooSlow:
            self = .busy(
                "A statement took too long \(notWritten) Check the load of \(server), and with "
                    + "`trueup doctor` the index on the key, then run again. \(said)")
        case .again:
            self = .busy(
                "Other transactions kept getting in the way \(notWritten) Run again when \(server) is "
                    + "less busy. \(said)")
        case .schema:
            self = .schema(
                "The tables of \(server) are not as expected \(notWritten) \(schema) \(said)"
            )
        case .forbidden:
            self = .schema(
                "The user of \(server) lacks a right \(notWritten) \(rights) \(said)")
        case .full:
            self = .notWritten(
                "The server of \(server) has a full or broken disk \(notWritten) Free space and run "
                    + "the job again: it continues where it stopped. \(said)")
        case .fenced:
            self = .busy(
                "Another worker has the lease of \(failure.words) now, because this one did not renew "
                    + "it in time. Nothing of this step was written. The other worker continues, so there "
                    + "is nothing to do, unless this machine keeps pausing its processes.")
        case .leased:
            self = .busy(
                "Another worker is active: \(failure.words). Apple was not asked, and nothing was "
                    + "written. Wait for it to end; the lease of a killed worker ends by itself.")
        case .value, .duplicate, .other:
            self = .inconsistent("The database \(server) refused a statement \(notWritten) \(said)")
        }
    }
}
