/// One column of a table in the database, as it stands there.
package enum StoredColumn: Hashable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    /// A number with a fraction or bytes, which no column of these tables holds.
    case other
}

/// Hands out the chains in the database, row by row and column by column as they stand there, in the
/// order of their numbers.
///
/// Whoever opens the database reads it for the audit: what the columns mean, and whether they hold,
/// is found out here without the code that wrote them.
package struct DatabaseReading {
    package typealias Rows = (_ body: ([String: StoredColumn]) throws -> Void) throws -> Void

    /// Of the ledger.
    package let ledger: Rows
    /// Of the decisions about findings.
    package let decisions: Rows
    /// The highest number of a decision that a stored run refers to; `nil` where none does.
    package let highestDecisionInUse: () throws -> Int64?

    package init(
        ledger: @escaping Rows, decisions: @escaping Rows,
        highestDecisionInUse: @escaping () throws -> Int64?
    ) {
        self.ledger = ledger
        self.decisions = decisions
        self.highestDecisionInUse = highestDecisionInUse
    }
}

/// The columns of one row, each read as what it must be.
struct StoredRow {
    let columns: [String: StoredColumn]

    func text(_ column: String) throws(UnreadableFile) -> String {
        guard case .text(let text) = columns[column] else {
            throw UnreadableFile("its column \(column) is no text")
        }
        return text
    }

    func integer(_ column: String) throws(UnreadableFile) -> Int64 {
        guard case .integer(let number) = columns[column] else {
            throw UnreadableFile("its column \(column) is no number")
        }
        return number
    }

    func isNull(_ column: String) -> Bool { columns[column] == .null }
}
