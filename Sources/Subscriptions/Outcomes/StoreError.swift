/// The errors of the database; the text says what happened and what to do next.
package enum StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It could not be opened.
    case unavailable(String)
    /// It could not be written: full disk, read-only, I/O error.
    case notWritten(String)
    /// Another program held it locked for longer than trueup waits.
    case busy(String)
    /// The schema is not trueup's or not this version's.
    case schema(String)
    /// An invariant broke.
    case inconsistent(String)
    /// A signal ended the wait for it.
    case stopped(String)

    package var description: String {
        switch self {
        case .unavailable(let text), .notWritten(let text), .busy(let text), .schema(let text),
            .inconsistent(let text), .stopped(let text):
            text
        }
    }
}

extension StoreError {
    /// With what a command ends that cannot continue because of it.
    package var exitStatus: ExitStatus {
        switch self {
        case .unavailable: .unavailable
        case .notWritten: .output
        case .busy: .busy
        case .schema: .config
        case .inconsistent: .internal
        case .stopped: .terminated
        }
    }
}
