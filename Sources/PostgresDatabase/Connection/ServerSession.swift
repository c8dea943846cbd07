/// One session with a PostgreSQL server: statements in, rows of text out.
///
/// What stands behind it is libpq in a build that has it, and a script in tests. Its calls block.
package protocol ServerSession: AnyObject, Sendable {
    /// Runs one statement.
    ///
    /// - Parameters:
    ///   - sql: With `$1`, `$2`, … where values belong.
    ///   - parameters: The values as text; `nil` is NULL. They never become part of the statement.
    /// - Returns: The rows, and how many were written.
    /// - Throws: What the server said, or that it can no longer be heard.
    func run(_ sql: String, _ parameters: [String?]) throws(ServerFailure) -> ServerRows

    /// Runs several statements without values in one exchange.
    ///
    /// - Parameter sql: Statements, divided by semicolons.
    /// - Returns: The result of the last.
    /// - Throws: What the server said, or that it can no longer be heard.
    func script(_ sql: String) throws(ServerFailure) -> ServerRows

    /// Notes what the next statements are for, for people who see that it waits.
    ///
    /// - Parameter doing: To go on after "while".
    func isUsed(for doing: String)
}

extension ServerSession {
    package func isUsed(for doing: String) {}
}

/// What a statement gave.
package struct ServerRows: Hashable, Sendable {
    /// In the order of the statement; `nil` is NULL.
    package var rows: [[String?]]
    /// How many rows were written; 0 for a statement that writes none.
    package var affected: Int
    /// What the server says it did, such as `COMMIT`; a transaction that could not be committed is
    /// answered with `ROLLBACK`.
    package var tag: String

    package init(rows: [[String?]] = [], affected: Int = 0, tag: String = "") {
        self.rows = rows
        self.affected = affected
        self.tag = tag
    }

    /// The first column of the first row.
    package var first: String? { rows.first?.first ?? nil }
}

/// Why a statement gave nothing.
package struct ServerFailure: Error, Hashable, Sendable {
    /// PostgreSQL's five characters; empty where no server answered.
    package var state: SQLState
    /// Whether the session is over: what was sent last may or may not have been done.
    package var endsSession: Bool
    /// The server's words, without the values that it repeats: they are personal data.
    package var words: String
    /// Whether it is about the one row that was written, and nothing else stands in the way.
    var isOfOneRow = false

    package init(state: SQLState, endsSession: Bool = false, words: String) {
        self.state = state
        self.endsSession = endsSession
        self.words = words
    }
}
