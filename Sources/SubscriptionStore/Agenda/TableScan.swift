import Foundation
import GRDB
import Subscriptions

/// Reads every row with its last check, a chunk at a time, and says which are due.
struct TableScan: Sendable {
    let request: ScheduleRequest
    let ends: SweepEnds
    /// Rows to be checked although nothing of themselves says so.
    var changedPeriods: Set<SubscriptionKey> = []
    let due: @Sendable (ScheduledRow, SweepEnds) -> QuestionReason?

    /// Rows read in one piece.
    static let rowsPerChunk = 2_000

    struct Chunk: Sendable {
        var rows = 0
        var lines: [QueuedQuestion] = []
        var unchanged: [SubscriptionKey] = []
        /// Where the next chunk begins; `nil` at the end of the table.
        var next: StoredKey?
    }

    /// Those of the digest, in its order.
    private static let compared = ValuesDigest.fields + ValuesDigest.later
    private static let firstValue = 4
    /// A column's definition is made again whenever it is asked for its form.
    private static let forms = compared.map(\.form)

    /// Returns the columns; those of a second table are read only where that table has rows.
    private static func columns(
        paysElsewhere: Bool, optional: Set<SubscriptionField>
    ) -> String {
        let values = compared.map { field in
            paysElsewhere || field != .paidElsewhereUntil
                ? field.expression(of: "s", optional: optional) : "NULL"
        }
        return "s.original_transaction_id, s.environment, s.bundle_id, s.status, "
            + values.joined(separator: ", ")
    }

    func chunk(after position: StoredKey?, _ db: Database) throws -> Chunk {
        let start = position ?? .first
        let relation = position == nil ? ">=" : ">"
        let columns = Self.columns(
            paysElsewhere: try OtherPayments.areKept(db), optional: try OptionalColumns.present(db))
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(columns) FROM subscriptions AS s
                WHERE (s.bundle_id, s.environment, s.original_transaction_id)
                    \(relation) \(start.marks)
                ORDER BY s.bundle_id, s.environment, s.original_transaction_id
                LIMIT \(Self.rowsPerChunk)
                """)
        var checks = try CheckScan(relation, start, db)
        var chunk = Chunk()
        // Nearly all rows have the app of the row before.
        var (bundleID, environment) = ("", "")
        var read = 0
        let inPlace = ColumnsInPlace(of: statement)
        let cursor = try Row.fetchCursor(statement, arguments: start.arguments)
        while let row = try cursor.next() {
            read += 1
            if read == Self.rowsPerChunk { chunk.next = try StoredKey(row) }
            if !inPlace.holds(bundleID, at: 2) { bundleID = row.requiredText(at: 2) }
            if !inPlace.holds(environment, at: 1) { environment = row.requiredText(at: 1) }
            let key = SubscriptionKey(
                bundleID: bundleID, environment: environment,
                originalTransactionID: inPlace.plainText(at: 0) ?? row.requiredText(at: 0))
            guard request.includes(key) else { continue }
            let status = inPlace.integer(at: 3).flatMap(Int.init(exactly:))
            let isEntitling = status.map { SubscriptionStatus(rawValue: $0).isEntitling } ?? false
            let scheduled = ScheduledRow(
                key: key, check: try checks.record(of: inPlace),
                values: Self.values(row, inPlace))
            chunk.rows += 1
            let changed = changedPeriods.contains(key) ? QuestionReason.changed : nil
            guard let reason = due(scheduled, ends) ?? changed else {
                chunk.unchanged.append(key)
                continue
            }
            chunk.lines.append(
                QueuedQuestion(
                    key: key, reason: reason,
                    priority: QueuedQuestion.priority(reason, isEntitling: isEntitling)))
        }
        return chunk
    }

    /// The digest of a row, equal to that of the row read column by column.
    private static func values(_ row: Row, _ columns: ColumnsInPlace) -> ValuesDigest {
        var digest = ValuesDigest()
        let firstLater = ValuesDigest.fields.count
        for (index, form) in forms.enumerated() {
            let column = firstValue + index
            let later = index < firstLater ? nil : compared[index]
            switch (columns.kind(at: column), form) {
            case (.null, _): if later == nil { digest.addNothing() }
            case (.integer, .integer), (.integer, .time):
                if let later { digest.add(nameOf: later) }
                digest.add(columns.integer(at: column) ?? 0)
            case (.text, .text):
                let isAdded = columns.withText(at: column) { bytes in
                    guard !bytes.isEmpty, bytes.isPlain else { return false }
                    if let later { digest.add(nameOf: later) }
                    digest.add(utf8: bytes)
                    return true
                }
                if !isAdded { fallthrough }
            default: add(row.reading(at: column, as: form).shown, later, to: &digest)
            }
        }
        return digest
    }

    /// Adds a column's value; `later` is the column where it is one of `ValuesDigest.later`.
    private static func add(
        _ value: FieldValue, _ later: SubscriptionField?, to digest: inout ValuesDigest
    ) {
        guard let later else { return digest.add(value) }
        guard !value.isEmpty else { return }
        digest.add(nameOf: later)
        digest.add(value)
    }
}

/// The checks next to the rows that a scan reads: both tables are read once, in the order of their
/// key.
///
/// To look each check up costs several times what reading does.
struct CheckScan {
    private let cursor: RowCursor
    private let columns: ColumnsInPlace
    private var isAtEnd: Bool

    /// - Parameters:
    ///   - relation: `>` or `>=`.
    ///   - start: The key that the rows of the scan relate to so.
    ///   - db: The database.
    /// - Throws: What reading it throws.
    init(_ relation: String, _ start: StoredKey, _ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                SELECT bundle_id, environment, original_transaction_id,
                    \(CheckRecord.columns(of: "c"))
                FROM trueup_checks AS c
                WHERE (c.bundle_id, c.environment, c.original_transaction_id)
                    \(relation) \(start.marks)
                ORDER BY c.bundle_id, c.environment, c.original_transaction_id
                """)
        columns = ColumnsInPlace(of: statement)
        cursor = try Row.fetchCursor(statement, arguments: start.arguments)
        isAtEnd = try cursor.next() == nil
    }

    /// The columns of the key of a row of the scan, in the order of the primary key.
    private static let key = [2, 1, 0]

    /// The check of the next row of the scan; `nil` without one.
    ///
    /// - Parameter row: A row, after all rows that were asked for before.
    /// - Returns: What was noted when the row was checked.
    /// - Throws: What reading the database throws.
    mutating func record(of row: ColumnsInPlace) throws -> CheckRecord? {
        // A key that is not text sorts after all that are, and no check has one.
        guard Self.key.allSatisfy({ row.kind(at: $0) == .text }) else { return nil }
        while !isAtEnd {
            let order = order(with: row)
            if order == 0 { return CheckRecord(at: 3) { columns.integer(at: $0) } }
            if order > 0 { return nil }
            isAtEnd = try cursor.next() == nil
        }
        return nil
    }

    private func order(with row: ColumnsInPlace) -> Int {
        for (index, other) in Self.key.enumerated() {
            let order = columns.order(at: index, with: row, at: other)
            if order != 0 { return order }
        }
        return 0
    }
}

/// Rows with an open finding about their stored periods, where these have changed since, and rows
/// whose key another one has by now.
///
/// The values of the row itself say nothing of them: without this, a finding that the company has
/// fixed would stay open until a sweep or the sample reaches the row.
struct ChangedPeriods {
    let db: Database

    private static let kinds: String = {
        let kinds = FindingKind.allCases.filter { $0.neededExamination == .periods }
        return "(" + kinds.map { "'\($0.rawValue)'" }.joined(separator: ", ") + ")"
    }()

    private static let isOpen = """
        h.state IN \(OpenFindings.states) AND h.original_transaction_id IS NOT NULL
        """

    /// - Parameter readsHistories: Whether a question may lead to reading the history: only that
    ///   closes a finding about a period that is not the current one.
    /// - Returns: Keys of rows that are worth a question.
    /// - Throws: What reading the database throws.
    func rows(readsHistories: Bool) throws -> Set<SubscriptionKey> {
        try (readsHistories ? comparedRows() : []).union(rowsWithOtherPrice())
            .union(DoubledKeys(db: db).unreported())
    }

    /// By the digest of the time when the history was last compared with the periods.
    private func comparedRows() throws -> Set<SubscriptionKey> {
        let noted = try db.rows(
            """
            SELECT DISTINCT h.bundle_id, h.environment, h.original_transaction_id,
                r.periods, r.periods_sha256
            FROM trueup_findings AS h
            JOIN trueup_history_revisions AS r ON \(SubscriptionKey.agree("r", "h"))
            WHERE \(Self.isOpen) AND h.kind IN \(Self.kinds)
                AND r.periods IS NOT NULL AND r.periods_sha256 IS NOT NULL
            """)
        var changed: Set<SubscriptionKey> = []
        for row in noted {
            let key = SubscriptionKey(row, at: 0)
            let agreed = PeriodsDigest(
                periods: row.number(at: 3) ?? 0, sha256: row.requiredText(at: 4))
            if try PeriodsDigest(StoredSubscriptions(db: db).periods(of: key)) != agreed {
                changed.insert(key)
            }
        }
        return changed
    }

    /// The price of the current period is in every answer, so a history may never have been read.
    private func rowsWithOtherPrice() throws -> Set<SubscriptionKey> {
        let found = try db.rows(
            """
            SELECT h.bundle_id, h.environment, h.original_transaction_id, f.transaction_id,
                f.field, f.local_value
            FROM trueup_findings AS h
            JOIN trueup_pass_findings AS f ON f.pass_id = h.last_pass_id
                AND f.outcome_bundle_id = h.bundle_id
                AND f.outcome_environment = h.environment
                AND f.outcome_original_transaction_id = h.original_transaction_id
                AND f.finding_id = h.finding_id
                AND (f.superseded_by IS NULL OR f.is_carried = 1)
            JOIN subscriptions AS s ON \(SubscriptionKey.agree("s", "h"))
                AND s.latest_transaction_id = f.transaction_id
            WHERE \(Self.isOpen) AND h.kind = '\(FindingKind.price.rawValue)'
            """)
        var changed: Set<SubscriptionKey> = []
        for row in found {
            let key = SubscriptionKey(row, at: 0)
            let period = key.transaction(row.requiredText(at: 3))
            // `price:` or `currency:`, and the transaction.
            let column = row.requiredText(at: 4).prefix { $0 != ":" }
            let value = try FieldValueText.value(row.requiredText(at: 5))
            if try CurrentRow.transaction(period, in: .periods, db)?[String(column)] != value {
                changed.insert(key)
            }
        }
        return changed
    }
}

/// Dates what was asked under a clock that was ahead as asked before the run.
///
/// A time that is still to come would count as checked in every walk over the table that begins
/// before it. It is done before the run is recorded: what a killed process leaves, the next run
/// does again.
struct ChecksOfAnotherClock: Sendable {
    let run: RunHeader

    private static let rowsPerChunk = 2000
    private static let key = "bundle_id, environment, original_transaction_id"
    private var began: Int64 { run.started.unixMilliseconds }

    /// Whether the clock went back since an earlier run, and something is dated after this one.
    ///
    /// A check notes nothing, and may be asked about a time that is long past.
    func isNeeded(_ db: Database) throws -> Bool {
        guard run.mode == .apply else { return false }
        return try db.holds("trueup_runs WHERE started > ?", [began])
            && (db.holds("trueup_checks WHERE asked_at > ?", [began])
                || db.holds("trueup_rounds WHERE began > ?", [began]))
    }

    /// Dates those of a chunk; returns the key with which the next one begins.
    func date(from start: StoredKey, _ db: Database) throws -> StoredKey? {
        try db.execute(
            sql: "UPDATE trueup_rounds SET began = ?1 WHERE began > ?1", arguments: [began])
        let found = try Row.fetchCursor(
            db,
            sql: """
                SELECT original_transaction_id, environment, bundle_id FROM trueup_checks
                WHERE (\(Self.key)) >= \(start.marks)
                ORDER BY \(Self.key) LIMIT 1 OFFSET \(Self.rowsPerChunk)
                """, arguments: start.arguments)
        let next = try found.next().map(StoredKey.init)
        try db.execute(
            sql: """
                UPDATE trueup_checks SET asked_at = ?
                WHERE (\(Self.key)) >= \(start.marks)
                    \(next.map { "AND (\(Self.key)) < \($0.marks)" } ?? "") AND asked_at > ?
                """,
            arguments: [began &- 1] + start.arguments + (next?.arguments ?? []) + [began])
        return next
    }
}
