/// One stored value of a table in the database.
package enum StoredColumn: Hashable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    /// A number with a fraction, or bytes; neither occurs in these tables.
    case other
}

/// Returns the stored rows of the chains in the database, in the order of their numbers.
///
/// The caller opens the database and reads the raw values. Their meaning, and whether the chains
/// are intact, is decided here without the code that wrote them.
package struct DatabaseReading {
    package typealias Rows = (_ body: ([String: StoredColumn]) throws -> Void) throws -> Void

    package let ledger: Rows
    /// The decisions about findings.
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

/// One stored row, with typed access to its columns.
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
