import Foundation
import GRDB
import Subscriptions

/// A file's lines on their way into a table of ours: first a temporary table, then merges of some
/// hundred lines each.
///
/// The temporary table is on disk and belongs to this connection, so producing the lines locks
/// nobody out and takes no memory; only the merges take the write lock, one after the other with
/// turns for others between them.
struct StagedTable: Sendable {
    let name: String
    /// Every column of the lines.
    let columns: [String]
    /// The key's columns, in the order of the primary key.
    let keyColumns: [String]
    /// The columns that the file has, besides the key.
    let givenColumns: [String]
    /// Columns of texts, where somebody may have stored bytes.
    let textColumns: Set<String>
    /// Those of them that are the company's own affair, so that any form is a value.
    var freeColumns: Set<String> = []
    /// Columns that rest on no statement of Apple's and need no date beside them.
    var undatedColumns: Set<String> = []
    /// The one of the columns that the table does not have.
    var beside: BesideColumn?
    /// Whether the rows count versions.
    let isVersioned: Bool

    /// The lines of one merge.
    static let staging = "temp.trueup_staged"
    /// All lines.
    static let lines = "temp.trueup_lines"

    /// Which columns a line gives, as bits in the order of `columns`; null for those of the file.
    private static let given = "trueup_given"

    /// What bytes are shown as, so that loading what was exported leaves them as they are: the
    /// bytes, their storage class, and whether any form is a value of their column.
    static let shownText = DatabaseFunction("trueup_shown", argumentCount: 3, pure: true) {
        values in
        guard let bytes = Data.fromDatabaseValue(values[0]) else { return nil }
        let isBlob = String.fromDatabaseValue(values[1]) == "blob"
        guard Bool.fromDatabaseValue(values[2]) == true else {
            return ShownBytes.valueText(of: bytes, isBlob: isBlob)
        }
        return isBlob ? ShownBytes.text(ofBlob: bytes) : ShownBytes.text(ofText: bytes)
    }

    /// Completes a line that is there with what another says of the same key, unless the two
    /// contradict each other in one of these columns.
    ///
    /// It takes the values of the columns, which columns are given, the key, and the values again.
    func complete(_ columns: [String]) -> String {
        let values =
            columns.map { "\($0) = ifnull(\($0), ?)" } + ["\(Self.given) = \(Self.given) | ?"]
        let keys = keyColumns.map { "\($0) = ?" }
        // A value that is not given, or not there yet, contradicts nothing.
        let agreement = columns.map { "ifnull(? = \($0), 1)" }
        return """
            UPDATE \(Self.lines) SET \(values.joined(separator: ", "))
            WHERE \((keys + agreement).joined(separator: " AND "))
            """
    }

    /// Kept in key order, as the merges read it.
    func create(_ table: String) -> String {
        """
        CREATE TABLE \(table) (\(columns.joined(separator: ", ")), \(Self.given),
            PRIMARY KEY (\(keyColumns.joined(separator: ", ")))) WITHOUT ROWID
        """
    }

    /// A key that is there already is ignored, which shows in the number of changes.
    var stage: String {
        let marks = Array(repeating: "?", count: columns.count + 1).joined(separator: ", ")
        return "INSERT OR IGNORE INTO \(Self.lines) VALUES (\(marks))"
    }

    /// Takes the next lines for a merge; how many there are shows in the number of changes.
    func takeNext(afterAKey: Bool) -> String {
        let keys = keyColumns.joined(separator: ", ")
        let marks = keyColumns.map { _ in "?" }.joined(separator: ", ")
        return """
            INSERT INTO \(Self.staging) SELECT * FROM \(Self.lines)
            \(afterAKey ? "WHERE (\(keys)) > (\(marks))" : "")
            ORDER BY \(keys) LIMIT \(StoreLimits.scatteredRowsPerChunk)
            """
    }

    /// The key of the last line of a merge.
    var lastKey: String {
        """
        SELECT \(keyColumns.joined(separator: ", ")) FROM \(Self.staging)
        ORDER BY \(keyColumns.map { $0 + " DESC" }.joined(separator: ", ")) LIMIT 1
        """
    }

    /// The plus keeps SQLite from looking the other way round: it is the file's lines that are
    /// looked up in the table, not the table's rows in the file.
    var keysAgree: String {
        keyColumns.map { "t.\($0) = +s.\($0)" }.joined(separator: " AND ")
    }

    /// What the stored row rests on is newer, or the line does not say what it rests on; a date more
    /// than a day in the future counts as none.
    var isOlder: String {
        "(typeof(t.signed_date) = 'integer' "
            + "AND t.signed_date <= (strftime('%s', 'now') + 86400) * 1000 "
            + "AND (s.signed_date IS NULL OR s.signed_date < t.signed_date)\(restsOnStatement))"
    }

    /// A line that gives nothing but columns without a date cannot be older than anything.
    private var restsOnStatement: String {
        guard !undatedColumns.isEmpty else { return "" }
        let undated = bits { undatedColumns.contains($0) }
        let dated = bits { !undatedColumns.contains($0) && !keyColumns.contains($0) }
        let file = bits { givenColumns.contains($0) }
        let given = "ifnull(s.\(Self.given), \(file))"
        return " AND NOT (\(given) & \(undated) <> 0 AND \(given) & \(dated) = 0)"
    }

    /// The columns as bits, as a line gives them.
    private func bits(_ isWanted: (String) -> Bool) -> Int {
        columns.indices.reduce(0) { isWanted(columns[$1]) ? $0 | 1 << $1 : $0 }
    }

    /// Whether a line changes a column: it gives it, and something else than is stored.
    private func changes(_ column: String) -> String {
        let held = beside?.name == column ? heldBeside : "t.\(column)"
        var parts = ["\(held) IS NOT s.\(column)", isGiven(column)]
        if textColumns.contains(column) {
            parts.append(
                "trueup_shown(CAST(t.\(column) AS BLOB), typeof(t.\(column)), "
                    + "\(freeColumns.contains(column) ? 1 : 0)) IS NOT s.\(column)")
        }
        return "(" + parts.joined(separator: " AND ") + ")"
    }

    /// Whether a line gives a column that the file has.
    func isGiven(_ column: String) -> String {
        "(s.\(Self.given) IS NULL OR s.\(Self.given) & \(bits { $0 == column }) <> 0)"
    }

    var countOlder: String {
        """
        SELECT count(*) FROM \(Self.staging) AS s CROSS JOIN main.\(name) AS t
        ON \(keysAgree) WHERE \(isOlder)
        """
    }

    /// Which stored rows a line changes in one of these columns.
    private func changesRow(in columns: [String]) -> String {
        let differs = columns.map(changes).joined(separator: " OR ")
        return "\(keysAgree) AND NOT \(isOlder) AND (\(differs))"
    }

    /// Updates what differs; columns that the file does not have stay as they are.
    var update: String? {
        let given = givenColumns.filter { $0 != beside?.name }
        guard !given.isEmpty else { return nil }
        var values = given.map {
            "\($0) = CASE WHEN \(changes($0)) THEN s.\($0) ELSE t.\($0) END"
        }
        if isVersioned { values.append("row_version = t.row_version + 1") }
        return """
            UPDATE main.\(name) AS t SET \(values.joined(separator: ", "))
            FROM \(Self.staging) AS s WHERE \(changesRow(in: given))
            """
    }

    /// How many rows the lines change, here or beside.
    var countUpdates: String? {
        guard !givenColumns.isEmpty else { return nil }
        return """
            SELECT count(*) FROM \(Self.staging) AS s CROSS JOIN main.\(name) AS t
            WHERE \(changesRow(in: givenColumns))
            """
    }

    private var isNew: String {
        "NOT EXISTS (SELECT 1 FROM main.\(name) AS t WHERE \(keysAgree))"
    }

    /// How many rows `insert` would make.
    var countInserts: String { "SELECT count(*) FROM \(Self.staging) AS s WHERE \(isNew)" }

    /// Inserts what is not there, in key order, which keeps the table's pages full.
    var insert: String {
        let list = columns.filter { $0 != beside?.name }.joined(separator: ", ")
        return """
            INSERT INTO main.\(name) (\(list)) SELECT \(list) FROM \(Self.staging) AS s
            WHERE \(isNew)
            ORDER BY \(keyColumns.map { "s." + $0 }.joined(separator: ", "))
            """
    }
}
