/// What can go wrong with the database; the text says what happened and what to do next.
package enum StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It could not be opened (exit 69).
    case unavailable(String)
    /// It could not be written: full disk, read-only, I/O error (exit 74).
    case notWritten(String)
    /// Somebody else held it locked for longer than our patience (exit 75).
    case busy(String)
    /// The schema is not ours or not this version's (exit 78).
    case schema(String)
    /// An invariant broke (exit 70).
    case inconsistent(String)

    package var description: String {
        switch self {
        case .unavailable(let text), .notWritten(let text), .busy(let text), .schema(let text),
            .inconsistent(let text):
            text
        }
    }
}
