import GRDB

/// Lines whose keys lie where the table has no row: what a first import consists of.
///
/// They are inserted from where they are. A merge would copy them once more, and look up each of
/// them three times.
extension StagedTable {
    /// Lines that follow each other: the keys of the first and the last.
    struct Part {
        let first: StatementArguments
        let last: StatementArguments
    }

    private var keyList: String { keyColumns.joined(separator: ", ") }

    private var marks: String { keyColumns.map { _ in "?" }.joined(separator: ", ") }

    /// The keys of the first and the last line of the next part, in one row.
    func nextBounds(afterAKey: Bool) -> String {
        let next = """
            SELECT \(keyList) FROM \(Self.lines) \(afterAKey ? "WHERE (\(keyList)) > (\(marks))" : "")
            ORDER BY \(keyList) LIMIT \(StoreLimits.scatteredRowsPerChunk)
            """
        func end(_ order: String) -> String {
            let keys = keyColumns.map { $0 + order }.joined(separator: ", ")
            return "(SELECT * FROM next ORDER BY \(keys) LIMIT 1)"
        }
        return "WITH next AS MATERIALIZED (\(next)) SELECT * FROM \(end("")), \(end(" DESC"))"
    }

    private var lies: String { "(\(keyList)) >= (\(marks)) AND (\(keyList)) <= (\(marks))" }

    /// Whether the table has a row between two keys, these included.
    var isHeld: String { "SELECT EXISTS (SELECT 1 FROM main.\(name) WHERE \(lies))" }

    /// Inserts the lines between two keys, these included, in key order.
    var insertPart: String {
        let list = columns.filter { $0 != beside?.name }.joined(separator: ", ")
        return """
            INSERT INTO main.\(name) (\(list)) SELECT \(list) FROM \(Self.lines)
            WHERE \(lies) ORDER BY \(keyList)
            """
    }
}
