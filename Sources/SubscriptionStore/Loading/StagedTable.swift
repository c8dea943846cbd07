import Foundation
import GRDB
import GRDBSQLite
import Subscriptions

/// A file's lines on their way into a table of trueup's: first a temporary table, then merges of
/// some hundred lines each.
///
/// The temporary table is on disk and belongs to this connection, so producing the lines locks
/// no service out and takes no memory; only the merges take the write lock, one after the other
/// with turns for others between them.
struct StagedTable: Sendable {
    let name: String
    /// Every column of the lines.
    let columns: [String]
    /// The key's columns, in the order of the primary key.
    let keyColumns: [String]
    /// The columns that the file has, besides the key.
    let givenColumns: [String]
    /// Columns of texts, which may hold bytes.
    let textColumns: Set<String>
    /// Those of them that are the company's own affair, so that any form is a value.
    let freeColumns: Set<String>
    /// Columns that rest on no statement of Apple's and need no date next to them.
    var undatedColumns: Set<String> = []
    /// Columns that the table lacks: no line gives them, except for one that is only looked at.
    var absentColumns: Set<String> = []
    /// The column that is stored in the table of `OtherPayments`, next to this one.
    var beside: String?
    /// Whether the rows count versions.
    var isVersioned = false
    /// Whether lines are measured against the newest statement of Apple's that a run has seen.
    var isMeasured = false

    /// The lines of one merge.
    static let staging = "temp.trueup_staged"
    /// All lines.
    static let lines = "temp.trueup_lines"

    /// Which columns a line gives, as bits in the order of `columns`; null for those of the file.
    private static let given = "trueup_given"

    /// A function that returns how bytes are shown, so that loading an export leaves them as they
    /// are: from the bytes, their storage class, and whether any form is a value of their column.
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
            PRIMARY KEY (\(keyList))) WITHOUT ROWID
        """
    }

    /// A key that is there already is ignored, which shows in the number of changes.
    var stage: String {
        let marks = Array(repeating: "?", count: columns.count + 1).joined(separator: ", ")
        return "INSERT OR IGNORE INTO \(Self.lines) VALUES (\(marks))"
    }

    /// Takes the next lines for a merge, at most as many as its last argument says; how many there
    /// are shows in the number of changes.
    func takeNext(afterAKey: Bool) -> String {
        """
        INSERT INTO \(Self.staging) SELECT * FROM \(Self.lines)
        \(afterAKey ? "WHERE \(follows(afterAKey))" : "")
        ORDER BY \(keyList) LIMIT ?
        """
    }

    /// The id of the first line of a merge.
    var firstID: String {
        "SELECT \(keyColumns.last ?? "") FROM \(Self.staging) ORDER BY \(keyList) LIMIT 1"
    }

    /// The key of the last line of a merge.
    var lastKey: String {
        """
        SELECT \(keyList) FROM \(Self.staging) ORDER BY \(lastKeyFirst) LIMIT 1
        """
    }

    /// The plus keeps SQLite from looking the other way round: it is the file's lines that are
    /// looked up in the table, not the table's rows in the file.
    var keysAgree: String {
        keyColumns.map { "t.\($0) = +s.\($0)" }.joined(separator: " AND ")
    }

    /// Whether a line may not change the stored row.
    var isOlder: String { isMeasured ? "(\(isOlderThanRow) OR \(isOutdated))" : isOlderThanRow }

    /// SQL for whether the stored row rests on a newer statement, or the line does not state its
    /// own; a date more than a day in the future counts as none.
    private var isOlderThanRow: String {
        "(typeof(t.signed_date) = 'integer' AND t.signed_date <= \(Self.lastPossible) "
            + "AND (s.signed_date IS NULL OR s.signed_date < t.signed_date)\(restsOnStatement))"
    }

    /// Apple cannot have signed anything later.
    private static let lastPossible = "(strftime('%s', 'now') + 86400) * 1000"

    /// A run has seen a newer statement of Apple's than the line rests on, perhaps one that agreed
    /// with the row and was not written.
    private var isOutdated: String {
        "EXISTS (SELECT 1 FROM main.trueup_statements AS n WHERE \(statementFits))"
    }

    private var statementFits: String {
        keyColumns.map { "n.\($0) = +s.\($0)" }.joined(separator: " AND ")
            + " AND n.signed_date > s.signed_date AND n.signed_date <= \(Self.lastPossible)"
    }

    /// The lines that only a newer statement keeps from changing a row, and the outdated new rows.
    ///
    /// Each with its id, both dates, and whether the table has the row; `nil` where lines are not
    /// measured.
    var outdated: String? {
        guard isMeasured else { return nil }
        return """
            SELECT s.original_transaction_id, s.signed_date, n.signed_date, t.bundle_id IS NOT NULL
            FROM \(Self.lines) AS s CROSS JOIN main.trueup_statements AS n
            LEFT JOIN main.\(name) AS t ON \(keysAgree)
            WHERE \(statementFits)
                AND (t.bundle_id IS NULL OR NOT \(isOlderThanRow) AND (\(differs(in: givenColumns))))
            """
    }

    private func differs(in columns: [String]) -> String {
        columns.isEmpty ? "0" : columns.map(changes).joined(separator: " OR ")
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

    /// Whether a line changes a column: it gives it, and something other than is stored.
    private func changes(_ column: String) -> String {
        let isAbsent = absentColumns.contains(column)
        let held = beside == column ? heldBeside : isAbsent ? "NULL" : "t.\(column)"
        var parts = ["\(held) IS NOT s.\(column)", isGiven(column)]
        if column != beside, !isAbsent {
            // Empty text is empty, and an export writes it so.
            parts.append("(s.\(column) IS NOT NULL OR t.\(column) IS NOT '')")
        }
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

    /// A line that would change nothing is not counted as skipped, even if its statement is
    /// outdated.
    var countOlder: String {
        let outdated = isMeasured ? " OR \(isOutdated) AND (\(differs(in: givenColumns)))" : ""
        return """
            SELECT count(*) FROM \(Self.staging) AS s CROSS JOIN main.\(name) AS t
            ON \(keysAgree) WHERE \(isOlderThanRow)\(outdated)
            """
    }

    /// Which stored rows a line changes in one of these columns.
    private func changesRow(in columns: [String]) -> String {
        "\(keysAgree) AND NOT \(isOlder) AND (\(differs(in: columns)))"
    }

    /// Updates what differs; columns that the file does not have stay as they are.
    var update: String? {
        let given = givenColumns.filter { $0 != beside }
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

    /// How many rows the lines change, here or next to.
    var countUpdates: String? {
        guard !givenColumns.isEmpty else { return nil }
        return """
            SELECT count(*) FROM \(Self.staging) AS s CROSS JOIN main.\(name) AS t
            WHERE \(changesRow(in: givenColumns))
            """
    }

    /// The columns of the lines that the table has.
    private var ownColumns: [String] {
        columns.filter { $0 != beside && !absentColumns.contains($0) }
    }

    private var isNew: String {
        "NOT EXISTS (SELECT 1 FROM main.\(name) AS t WHERE \(keysAgree))"
    }

    /// How many rows `insert` would make.
    var countInserts: String { "SELECT count(*) FROM \(Self.staging) AS s WHERE \(isNew)" }

    /// Inserts what is not there, in key order, which keeps the table's pages full.
    var insert: String {
        let list = ownColumns.joined(separator: ", ")
        return """
            INSERT INTO main.\(name) (\(list)) SELECT \(list) FROM \(Self.staging) AS s
            WHERE \(isNew)
            ORDER BY \(keyColumns.map { "s." + $0 }.joined(separator: ", "))
            """
    }
}

extension StagedTable {
    /// The value next to the stored row `t`.
    private var heldBeside: String {
        let isOfRow = keyColumns.map { "o.\($0) = t.\($0)" }.joined(separator: " AND ")
        return "(SELECT o.\(OtherPayments.column) FROM main.\(OtherPayments.table) AS o "
            + "WHERE \(isOfRow))"
    }

    /// Notes the customers of the stored rows, whose entitlements the column may change.
    ///
    /// Not by triggers, as for the rows themselves: SQLite does not let a service rebuild a table
    /// that a trigger of another table names.
    var notesOfOwners: [String] {
        let owners = """
            SELECT DISTINCT t.customer_id FROM \(Self.staging) AS s
            CROSS JOIN main.\(name) AS t ON \(keysAgree)
            WHERE nullif(t.customer_id, '') IS NOT NULL
            """
        return [
            "DELETE FROM main.trueup_entitlement_notes WHERE customer_id IN (\(owners))",
            "INSERT INTO main.trueup_entitlement_notes (customer_id) \(owners)",
        ]
    }

    /// The SQL that writes the column, also in new rows; `nil` where the file does not have it.
    ///
    /// Not counted here: a row of the table and what is next to it are one.
    var writesBeside: [String]? {
        guard let beside, givenColumns.contains(beside) else { return nil }
        let (table, column) = (OtherPayments.table, OtherPayments.column)
        let keys = keyColumns.map { "s.\($0)" }.joined(separator: ", ")
        let isTaken = """
            \(isGiven(beside)) AND NOT EXISTS (
                SELECT 1 FROM main.\(name) AS t WHERE \(keysAgree) AND \(isOlder))
            """
        return [
            """
            INSERT INTO main.\(table) (\(keyList), \(column))
            SELECT \(keys), s.\(beside) FROM \(Self.staging) AS s
            WHERE s.\(beside) IS NOT NULL AND \(isTaken)
            ON CONFLICT DO UPDATE SET \(column) = excluded.\(column)
            WHERE \(column) IS NOT excluded.\(column)
            """,
            """
            DELETE FROM main.\(table) WHERE (\(keyList)) IN (
                SELECT \(keys) FROM \(Self.staging) AS s
                WHERE s.\(beside) IS NULL AND \(isTaken))
            """,
        ]
    }
}

/// Lines whose keys lie where the table has no row: what a first import consists of.
///
/// They are inserted from where they are. A merge would copy them once more, and look up each of
/// them three times.
extension StagedTable {
    /// Lines that follow each other.
    ///
    /// The bounds are the key before the first, unless it is the first of all, and that of the last.
    typealias Part = (followsAKey: Bool, last: StatementArguments, bounds: StatementArguments)

    private var keyList: String { keyColumns.joined(separator: ", ") }

    private var lastKeyFirst: String {
        keyColumns.map { $0 + " DESC" }.joined(separator: ", ")
    }

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
        ORDER BY \(lastKeyFirst) LIMIT 1
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
        let list = ownColumns.joined(separator: ", ")
        return """
            INSERT INTO main.\(name) (\(list)) SELECT \(list) FROM \(Self.lines)
            WHERE \(lies(afterAKey)) ORDER BY \(keyList)
            """
    }
}

/// The temporary table of a load while the lines of a file are put into it.
struct LineStage {
    let db: Database
    private let insert: Statement
    private var binding: LineBinding
    private(set) var lines = 0

    init(of table: StagedTable, _ db: Database) throws {
        self.db = db
        insert = try db.cachedStatement(sql: table.stage)
        binding = LineBinding(insert)
    }

    /// Adds a line; one whose key is there already is left out.
    ///
    /// - Parameters:
    ///   - columns: Every column, in the table's order.
    ///   - given: Which of them the line gives, as `StagedTable` has it.
    ///   - value: The line's value of a column.
    /// - Returns: `.accepted` or `.duplicateKey`.
    /// - Throws: What SQLite reports.
    mutating func add<Column>(
        _ columns: [Column], given: UInt64?, _ value: (Column) -> FieldValue
    ) throws -> LineOutcome {
        binding.restart()
        for column in columns { try binding.bind(value(column)) }
        try binding.bind(given.map { Int64(bitPattern: $0) })
        try insert.execute()
        guard db.changesCount > 0 else { return .duplicateKey }
        lines += 1
        return .accepted
    }

    /// Adds several lines, or none of them if `body` finds one that may not be added.
    mutating func addTogether(
        _ body: (inout LineStage) throws -> LineOutcome
    ) throws -> LineOutcome {
        let before = lines
        var outcome = LineOutcome.accepted
        try db.inSavepoint {
            outcome = try body(&self)
            return outcome == .duplicateKey ? .rollback : .commit
        }
        if outcome == .duplicateKey { lines = before }
        return outcome
    }
}

extension StagedTable {
    /// The table of subscriptions, for a file with some columns, where it lacks some itself.
    static func subscriptions(
        giving columns: Set<SubscriptionField>, lacking absent: Set<SubscriptionField>
    ) -> StagedTable {
        var table = StagedTable(
            "subscriptions", of: SubscriptionField.allCases, by: .originalTransactionID,
            giving: columns)
        let paidElsewhere = SubscriptionField.paidElsewhereUntil.rawValue
        table.undatedColumns = [paidElsewhere]
        table.absentColumns = Set(absent.map(\.rawValue))
        table.beside = paidElsewhere
        table.isVersioned = true
        table.isMeasured = true
        return table
    }

    static func transactions(
        _ table: TransactionTable, giving columns: Set<TransactionField>
    ) -> StagedTable {
        StagedTable(table.rawValue, of: table.fields, by: .transactionID, giving: columns)
    }

    private init<Column: RowColumn>(
        _ name: String, of fields: [Column], by identifier: Column, giving columns: Set<Column>
    ) {
        self.name = name
        self.columns = fields.map(\.rawValue)
        let keys = ["bundle_id", "environment", identifier.rawValue]
        keyColumns = keys
        givenColumns = fields.filter(columns.contains).map(\.rawValue).filter {
            !keys.contains($0)
        }
        textColumns = Set(fields.filter { $0.form == .text }.map(\.rawValue))
        freeColumns = Set(fields.filter { $0.definition.content == .name }.map(\.rawValue))
    }
}

/// Binds the values of a line to a statement, one after the other.
///
/// By SQLite's own functions: GRDB's lists of arguments took a quarter of loading a million lines.
struct LineBinding {
    /// Tells SQLite to copy a text before the call returns.
    private static var copied: sqlite3_destructor_type {
        unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }

    private let statement: Statement
    private var place: Int32 = 0

    /// - Parameter statement: Executed without arguments from now on.
    init(_ statement: Statement) {
        self.statement = statement
        statement.setUncheckedArguments(StatementArguments())
    }

    /// Begins with the first value of the next line; those of the last line stay until they are
    /// bound.
    mutating func restart() {
        // What it returns is the error of the last execution, which was thrown there.
        _ = unsafe sqlite3_reset(statement.sqliteStatement)
        place = 0
    }

    /// Binds the next value.
    mutating func bind(_ value: FieldValue) throws {
        switch value {
        case .null: try bind(nil)
        case .integer(let number): try bind(number)
        case .time(let time): try bind(time.unixMilliseconds)
        case .text(var text):
            place += 1
            try check(text.withUTF8 { bytes in unsafe bind(bytes, at: place) })
        }
    }

    /// Binds a number as the next value; `nil` is null.
    mutating func bind(_ number: Int64?) throws {
        place += 1
        guard let number else {
            return try check(unsafe sqlite3_bind_null(statement.sqliteStatement, place))
        }
        try check(unsafe sqlite3_bind_int64(statement.sqliteStatement, place, number))
    }

    private func bind(_ text: UnsafeBufferPointer<UInt8>, at place: Int32) -> Int32 {
        // A text without bytes may be nowhere; where SQLite is given nothing, it would be null.
        guard let start = text.baseAddress else {
            return unsafe sqlite3_bind_text(statement.sqliteStatement, place, "", 0, Self.copied)
        }
        return unsafe start.withMemoryRebound(to: CChar.self, capacity: text.count) {
            unsafe sqlite3_bind_text(
                statement.sqliteStatement, place, $0, Int32(clamping: text.count), Self.copied)
        }
    }

    private func check(_ code: Int32) throws {
        guard code == SQLITE_OK else {
            throw DatabaseError(resultCode: ResultCode(rawValue: code), sql: statement.sql)
        }
    }
}
