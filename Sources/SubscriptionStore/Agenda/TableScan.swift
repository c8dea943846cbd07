import Foundation
import GRDB
import Subscriptions

/// Reads every row with its last check, a chunk at a time, and says which are due.
struct TableScan: Sendable {
    let request: ScheduleRequest
    let ends: SweepEnds
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
    private static let columns = """
        s.original_transaction_id, s.environment, s.bundle_id, s.status, \
        \(CheckRecord.columns(of: "c")), \(compared.map { $0.expression(of: "s") }.joined(separator: ", "))
        """
    private static let firstValue = 4 + CheckRecord.columns.count
    /// A column's definition is made anew whenever it is asked for its form.
    private static let forms = compared.map(\.form)

    func chunk(after position: StoredKey?, _ db: Database) throws -> Chunk {
        let start = position ?? .first
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(Self.columns) FROM subscriptions AS s
                LEFT JOIN trueup_checks AS c ON c.bundle_id = s.bundle_id
                    AND c.environment = s.environment
                    AND c.original_transaction_id = s.original_transaction_id
                WHERE (s.bundle_id, s.environment, s.original_transaction_id)
                    \(position == nil ? ">=" : ">") \(start.marks)
                ORDER BY s.bundle_id, s.environment, s.original_transaction_id
                LIMIT \(Self.rowsPerChunk)
                """)
        var chunk = Chunk()
        var read = 0
        let cursor = try Row.fetchCursor(statement, arguments: start.arguments)
        while let row = try cursor.next() {
            read += 1
            if read == Self.rowsPerChunk { chunk.next = try StoredKey(row) }
            let scheduled = Self.scheduled(row)
            guard request.includes(scheduled.key) else { continue }
            chunk.rows += 1
            guard let reason = due(scheduled, ends) else {
                chunk.quiet.append(scheduled.key)
                continue
            }
            chunk.lines.append(
                AgendaLine(
                    key: scheduled.key, reason: reason,
                    turn: AgendaLine.turn(reason, isEntitling: scheduled.isEntitling)))
        }
        return chunk
    }

    private static func scheduled(_ row: Row) -> ScheduledRow {
        let key = SubscriptionKey(
            bundleID: row.requiredText(at: 2), environment: row.requiredText(at: 1),
            originalTransactionID: row.requiredText(at: 0))
        let status = row.number(at: 3).map(SubscriptionStatus.init(rawValue:))
        return ScheduledRow(
            key: key, check: CheckRecord(row, at: 4), values: values(row),
            isEntitling: status?.isEntitling ?? false)
    }

    /// The same digest as that of the row read column by column.
    private static func values(_ row: Row) -> ValuesDigest {
        var digest = ValuesDigest()
        let firstLater = ValuesDigest.fields.count
        for (index, form) in forms.enumerated() {
            let value: DatabaseValue = row[firstValue + index]
            switch (value.storage, form) {
            case (.null, _): if index < firstLater { digest.addNothing() }
            case (.string(""), _) where index >= firstLater: break
            case (.string(let text), .text): digest.add(.text(text))
            case (.int64(let number), .integer), (.int64(let number), .time): digest.add(number)
            default:
                switch row.reading(at: firstValue + index, as: form) {
                case .value(let value): digest.add(value)
                case .unreadable(let shown): digest.add(shown)
                }
            }
        }
        return digest
    }
}
