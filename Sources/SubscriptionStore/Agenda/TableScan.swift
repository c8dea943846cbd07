import Foundation
import GRDB
import Subscriptions

/// Reads every row with its last check, a chunk at a time, and says which are due.
struct TableScan: Sendable {
    let request: ScheduleRequest
    let ends: SweepEnds
    /// Rows to be asked about although nothing of themselves says so.
    var changedPeriods: Set<SubscriptionKey> = []
    let due: @Sendable (ScheduledRow, SweepEnds) -> QuestionReason?

    /// Rows read in one piece.
    static let rowsPerChunk = 2_000

    struct Chunk: Sendable {
        var rows = 0
        var lines: [AgendaLine] = []
        var quiet: [SubscriptionKey] = []
        /// Where the next chunk begins; `nil` at the end of the table.
        var next: StoredKey?
    }

    /// Those of the digest, in its order.
    private static let compared = ValuesDigest.fields + ValuesDigest.later
    private static let firstValue = 4
    /// A column's definition is made anew whenever it is asked for its form.
    private static let forms = compared.map(\.form)
    /// The columns of the key in the order of the primary key.
    private static let key = [2, 1, 0]

    /// What stands beside the rows is looked up only where anything does.
    private static func columns(paysElsewhere: Bool) -> String {
        let values = compared.map { field in
            paysElsewhere || SubscriptionField.stored.contains(field)
                ? field.expression(of: "s") : "NULL"
        }
        return "s.original_transaction_id, s.environment, s.bundle_id, s.status, "
            + values.joined(separator: ", ")
    }

    func chunk(after position: StoredKey?, _ db: Database) throws -> Chunk {
        let start = position ?? .first
        let relation = position == nil ? ">=" : ">"
        let columns = Self.columns(paysElsewhere: try OtherPayments.areKept(db))
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(columns) FROM subscriptions AS s
                WHERE (s.bundle_id, s.environment, s.original_transaction_id)
                    \(relation) \(start.marks)
                ORDER BY s.bundle_id, s.environment, s.original_transaction_id
                LIMIT \(Self.rowsPerChunk)
                """)
        var checks = try CheckScan(relation, start, db)
        var keys = KeyReader()
        var chunk = Chunk()
        var read = 0
        let inPlace = ColumnsInPlace(of: statement)
        let cursor = try Row.fetchCursor(statement, arguments: start.arguments)
        while let row = try cursor.next() {
            read += 1
            if read == Self.rowsPerChunk { chunk.next = try StoredKey(row) }
            let key = keys.key(row, inPlace)
            guard request.includes(key) else { continue }
            let status = inPlace.integer(at: 3).flatMap(Int.init(exactly:))
            let isEntitling = status.map { SubscriptionStatus(rawValue: $0).isEntitling } ?? false
            let scheduled = ScheduledRow(
                key: key, check: try checks.record(of: inPlace, key: Self.key),
                values: Self.values(row, inPlace), isEntitling: isEntitling)
            chunk.rows += 1
            let changed = changedPeriods.contains(key) ? QuestionReason.changed : nil
            guard let reason = due(scheduled, ends) ?? changed else {
                chunk.quiet.append(key)
                continue
            }
            chunk.lines.append(
                AgendaLine(
                    key: key, reason: reason,
                    turn: AgendaLine.turn(reason, isEntitling: isEntitling)))
        }
        return chunk
    }

    /// The same digest as that of the row read column by column.
    private static func values(_ row: Row, _ columns: ColumnsInPlace) -> ValuesDigest {
        var digest = ValuesDigest()
        let firstLater = ValuesDigest.fields.count
        for (index, form) in forms.enumerated() {
            let column = firstValue + index
            switch (columns.kind(at: column), form) {
            case (.null, _): if index < firstLater { digest.addNothing() }
            case (.integer, .integer), (.integer, .time):
                digest.add(columns.integer(at: column) ?? 0)
            case (.text, .text):
                let isAdded = columns.withText(at: column) { bytes in
                    guard !bytes.isEmpty, bytes.isPlain else { return false }
                    digest.add(utf8: bytes)
                    return true
                }
                if !isAdded { fallthrough }
            default:
                add(row.reading(at: column, as: form), isLater: index >= firstLater, to: &digest)
            }
        }
        return digest
    }

    private static func add(
        _ reading: ColumnReading, isLater: Bool, to digest: inout ValuesDigest
    ) {
        switch reading {
        case .value(let value): if !isLater || !value.isEmpty { digest.add(value) }
        case .unreadable(let shown): digest.add(.text(shown))
        }
    }
}

/// Reads the keys of rows, of which nearly all have the app of the row before.
private struct KeyReader {
    private var bundleID = ""
    private var environment = ""

    mutating func key(_ row: Row, _ columns: ColumnsInPlace) -> SubscriptionKey {
        if !columns.holds(bundleID, at: 2) { bundleID = row.requiredText(at: 2) }
        if !columns.holds(environment, at: 1) { environment = row.requiredText(at: 1) }
        return SubscriptionKey(
            bundleID: bundleID, environment: environment,
            originalTransactionID: columns.plainText(at: 0) ?? row.requiredText(at: 0))
    }
}
