import GRDB

/// The rows of a pass in a table of several passes, some at a time in the order of a number.
struct PassChunks: Sendable {
    let table: String
    /// The table's integer primary key.
    let number: String
    let passID: Int64
    let rowsPerChunk: Int

    /// The number of the first row; `nil` where the pass has none.
    func first(_ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db, sql: "SELECT min(\(number)) FROM \(table) WHERE pass_id = ?", arguments: [passID])
    }

    /// Where the chunk after the one that begins at a number begins.
    func next(after first: Int64, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT \(number) FROM \(table) AS x
                    WHERE x.\(number) >= ? AND \(isOfPass("x")) ORDER BY x.\(number)
                    LIMIT 1 OFFSET \(rowsPerChunk)
                    """),
            arguments: [first, passID])
    }

    /// That a row belongs to the pass, to go with `passID`.
    ///
    /// Without the plus SQLite would take the index of the pass and sort all of it each time.
    func isOfPass(_ name: String) -> String { "+\(name).pass_id = ?" }
}
