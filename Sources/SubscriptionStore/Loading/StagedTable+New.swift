import GRDB

/// Lines whose keys lie where the table has no row: what a first import consists of.
///
/// They are inserted from where they are. A merge would copy them once more, and look up each of
/// them three times.
extension StagedTable {
    /// Lines that follow each other.
    struct Part {
        /// The key before the first; `nil` where it is the first of all.
        let after: StatementArguments?
        /// The key of the last.
        let last: StatementArguments

        var arguments: StatementArguments { (after ?? []) + last }
    }

    private var keyList: String { keyColumns.joined(separator: ", ") }

    private var marks: String { keyColumns.map { _ in "?" }.joined(separator: ", ") }

    private func follows(_ afterAKey: Bool) -> String {
        afterAKey ? "(\(keyList)) > (\(marks))" : "true"
    }

    /// The key of the last of as many lines as one merge takes; none where fewer follow.
    func lastOfNext(afterAKey: Bool) -> String {
        """
        SELECT \(keyList) FROM \(Self.lines) WHERE \(follows(afterAKey))
        ORDER BY \(keyList) LIMIT 1 OFFSET \(StoreLimits.scatteredRowsPerChunk - 1)
        """
    }

    /// The key of the last of all lines that follow.
    func lastOfAll(afterAKey: Bool) -> String {
        """
        SELECT \(keyList) FROM \(Self.lines) WHERE \(follows(afterAKey))
        ORDER BY \(keyColumns.map { $0 + " DESC" }.joined(separator: ", ")) LIMIT 1
        """
    }

    private func lies(_ afterAKey: Bool) -> String {
        "\(follows(afterAKey)) AND (\(keyList)) <= (\(marks))"
    }

    /// Whether the table has a row behind one key and up to another.
    func isHeld(afterAKey: Bool) -> String {
        "SELECT EXISTS (SELECT 1 FROM main.\(name) WHERE \(lies(afterAKey)))"
    }

    /// Inserts the lines behind one key and up to another, in key order.
    func insertPart(afterAKey: Bool) -> String {
        let list = columns.filter { $0 != beside?.name }.joined(separator: ", ")
        return """
            INSERT INTO main.\(name) (\(list)) SELECT \(list) FROM \(Self.lines)
            WHERE \(lies(afterAKey)) ORDER BY \(keyList)
            """
    }
}
