/// What can go wrong with a report; the text says what happened and what to do next.
package enum ReportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The folder cannot be made (exit 73); found before the first call to Apple.
    case cannotCreate(String)
    /// A file could not be written to its end: full disk, I/O error (exit 74).
    ///
    /// Nothing stands under a final name then, apart from what was complete before.
    case notWritten(String)
    /// The stored run could not be read, or contradicts the folder (exit 70).
    case record(String)

    /// The report folder is another database's (exit 78).
    case otherDatabase(String)
    /// Another run writes into the report folder (exit 75).
    case busy(String)

    package var description: String {
        switch self {
        case .cannotCreate(let text), .notWritten(let text), .record(let text),
            .otherDatabase(let text), .busy(let text):
            text
        }
    }
}
