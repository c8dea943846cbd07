/// The five characters by which PostgreSQL names an error; its words change with the language.
package struct SQLState: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ code: String) { description = code }

    static let readOnly = SQLState("25006")
    /// Ours, not a server's: a lease has another holder now.
    static let fenced = SQLState("TU001")
    /// Ours, not a server's: a lease is held.
    static let leased = SQLState("TU002")
    /// Ours, not a server's: a row does not stand as it was written.
    static let notKept = SQLState("TU003")
    /// Ours, not a server's: a signal ended the wait.
    static let stopped = SQLState("TU004")

    /// What an error means for whoever called.
    package enum Meaning: Hashable, Sendable {
        /// Nobody answers, or the server lets nobody in.
        case unavailable
        /// A standby, or a session that may only read.
        case readOnly
        /// Somebody holds a lock for longer than our patience.
        case locked
        /// A statement took longer than it may.
        case tooSlow
        /// Two transactions stood in each other's way; the same again may succeed.
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
        case other
    }

    package var meaning: Meaning {
        switch description {
        case "": .unavailable
        case Self.fenced.description: .fenced
        case Self.leased.description: .leased
        case Self.stopped.description: .stopped
        case "25006": .readOnly
        case "55P03": .locked
        case "57014": .tooSlow
        case "40001", "40P01": .again
        case "42501": .forbidden
        case "23505": .duplicate
        case "55006": .locked
        case "3F000", "3D000": .schema
        case "57P01", "57P02", "57P03", "57P05", "25P03", "53300", "53200": .unavailable
        default: meaningOfClass
        }
    }

    /// Whether a statement that wrote one row may have failed with it because of that row alone.
    ///
    /// A trigger raises whatever it likes, and fails in whatever way when its own tables or functions
    /// are gone; the statement itself was well, because the row was read by the same mapping just
    /// before. What remains is about the server, or about other transactions.
    package var mayBeOfOneRow: Bool {
        switch meaning {
        case .locked, .tooSlow, .again, .full, .stopped: false
        // Without a state, and where the server has no memory, nobody speaks of a row.
        case .unavailable: !["", "53"].contains(description.prefix(2))
        default: description != "25P02"
        }
    }

    private var meaningOfClass: Meaning {
        switch description.prefix(2) {
        case "08", "28": .unavailable
        case "42": .schema
        case "53", "58": .full
        case "09", "21", "22", "23", "44", "P0": .value
        default: .other
        }
    }
}
