import GRDB
import Subscriptions

/// A file's lines on their way into a table of ours: first a temporary table, then one merge.
///
/// The temporary table is on disk and belongs to this connection, so producing the lines locks
/// nobody out and takes no memory; only the merge takes the write lock.
struct StagedTable: Sendable {
    let name: String
    /// Every column.
    let columns: [String]
    /// The key's columns, in the order of the primary key.
    let keyColumns: [String]
    /// The columns that the file has, besides the key.
    let givenColumns: [String]
    /// Whether the rows count versions.
    let isVersioned: Bool

    static let staging = "temp.trueup_staged"

    /// Kept in key order, as the merge reads it.
    var create: String {
        """
        CREATE TABLE \(Self.staging) (\(columns.joined(separator: ", ")),
            PRIMARY KEY (\(keyColumns.joined(separator: ", ")))) WITHOUT ROWID
        """
    }

    /// A key that is there already is ignored, which shows in the number of changes.
    var stage: String {
        let marks = Array(repeating: "?", count: columns.count).joined(separator: ", ")
        return "INSERT OR IGNORE INTO \(Self.staging) VALUES (\(marks))"
    }

    /// The plus keeps SQLite from looking the other way round: it is the file's lines that are
    /// looked up in the table, not the table's rows in the file.
    private var keysAgree: String {
        keyColumns.map { "t.\($0) = +s.\($0)" }.joined(separator: " AND ")
    }

    private var isOlder: String {
        "(typeof(t.signed_date) = 'integer' AND typeof(s.signed_date) = 'integer' "
            + "AND s.signed_date < t.signed_date)"
    }

    private var isOlderWhereGiven: String {
        givenColumns.contains("signed_date") ? isOlder : "0"
    }

    var countOlder: String {
        """
        SELECT count(*) FROM \(Self.staging) AS s CROSS JOIN main.\(name) AS t
        ON \(keysAgree) WHERE \(isOlderWhereGiven)
        """
    }

    /// Updates what differs; columns that the file does not have stay as they are.
    var update: String? {
        guard !givenColumns.isEmpty else { return nil }
        var changes = givenColumns.map { "\($0) = s.\($0)" }
        if isVersioned { changes.append("row_version = t.row_version + 1") }
        let differs = givenColumns.map { "t.\($0) IS NOT s.\($0)" }.joined(separator: " OR ")
        return """
            UPDATE main.\(name) AS t SET \(changes.joined(separator: ", "))
            FROM \(Self.staging) AS s
            WHERE \(keysAgree) AND NOT \(isOlderWhereGiven) AND (\(differs))
            """
    }

    /// Inserts what is not there, in key order, which keeps the table's pages full.
    var insert: String {
        let list = columns.joined(separator: ", ")
        return """
            INSERT INTO main.\(name) (\(list)) SELECT \(list) FROM \(Self.staging) AS s
            WHERE NOT EXISTS (SELECT 1 FROM main.\(name) AS t WHERE \(keysAgree))
            ORDER BY \(keyColumns.map { "s." + $0 }.joined(separator: ", "))
            """
    }
}
