import GRDB
import Subscriptions

/// Reads rows together with what the store knows about them.
///
/// Absence and revision come with the row; periods, duplicates and stand-ins are asked for only where
/// the row says that there are any.
struct ScopedRows {
    let db: Database

    /// More other rows than these are not listed: they make nothing clearer.
    private static let duplicatesListed = 20

    /// Apple's line items are numbers; `0`, a dash or a word stand for one that is not known, and
    /// may do so in every row.
    private static func isLineItem(_ column: String) -> String { "\(column) GLOB '*[1-9]*'" }

    private static let columns = """
        \(LocalSubscription.columns), a.first_day, a.last_day, a.distinct_days, h.revision,
        EXISTS (SELECT 1 FROM transactions AS t
            WHERE t.bundle_id = s.bundle_id AND t.environment = s.environment
                AND t.original_transaction_id = s.original_transaction_id),
        EXISTS (SELECT 1 FROM subscriptions AS d
            WHERE d.original_transaction_id = s.original_transaction_id
                AND (d.bundle_id <> s.bundle_id OR d.environment <> s.environment))
        OR EXISTS (SELECT 1 FROM subscriptions AS d
            WHERE d.web_order_line_item_id = s.web_order_line_item_id
                AND \(isLineItem("s.web_order_line_item_id"))
                AND d.bundle_id = s.bundle_id AND d.environment = s.environment
                AND d.original_transaction_id <> s.original_transaction_id),
        h.periods, h.periods_sha256,
        EXISTS (SELECT 1 FROM trueup_findings AS f
            WHERE f.bundle_id = s.bundle_id AND f.environment = s.environment
                AND f.original_transaction_id = s.original_transaction_id
                AND f.kind IN ('transaction_missing', 'transaction_unknown')
                AND f.state IN ('new', 'open', 'recurring', 'acknowledged')),
        EXISTS (SELECT 1 FROM trueup_stand_ins AS i
            WHERE i.bundle_id = s.bundle_id AND i.environment = s.environment
                AND i.true_original = s.original_transaction_id)
        """

    private static let known = """
        LEFT JOIN trueup_absences AS a ON a.bundle_id = s.bundle_id
            AND a.environment = s.environment
            AND a.original_transaction_id = s.original_transaction_id
        LEFT JOIN trueup_history_revisions AS h ON h.bundle_id = s.bundle_id
            AND h.environment = s.environment
            AND h.original_transaction_id = s.original_transaction_id
        """

    /// Whether the pass has settled the row `s`.
    static let isSettled = """
        EXISTS (SELECT 1 FROM trueup_pass_rows AS p WHERE p.pass_id = ?
            AND p.bundle_id = s.bundle_id AND p.environment = s.environment
            AND p.original_transaction_id = s.original_transaction_id
            AND p.verdict <> \(VerdictCode.noted.rawValue))
        """

    func page(
        after position: StoredKey?, limit: Int, passID: Int64
    ) throws -> (rows: [ScopedRow], unspeakable: [SubscriptionKey: StoredKey]) {
        let start =
            position
            ?? StoredKey(
                SubscriptionKey(bundleID: "", environment: "", originalTransactionID: ""))
        // Everything sorts at or after the empty key, which is a key like any other.
        let relation = position == nil ? ">=" : ">"
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(Self.columns) FROM subscriptions AS s \(Self.known)
                WHERE (s.bundle_id, s.environment, s.original_transaction_id)
                    \(relation) \(start.marks) AND NOT \(Self.isSettled)
                ORDER BY s.bundle_id, s.environment, s.original_transaction_id LIMIT ?
                """)
        let arguments = start.arguments + [passID, limit]
        var unspeakable: [SubscriptionKey: StoredKey] = [:]
        let rows = try collect(statement, arguments) { row, scoped in
            guard try !StoredKey.isSpelled(scoped.row.key, in: row) else { return }
            unspeakable[scoped.row.key] = try StoredKey(row)
        }
        return (rows, unspeakable)
    }

    func holding(_ originalTransactionID: String) throws -> [ScopedRow] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(Self.columns) FROM subscriptions AS s \(Self.known)
                WHERE s.original_transaction_id = ?
                """)
        return try collect(statement, [originalTransactionID])
    }

    func toAskAgain(limit: Int, passID: Int64) throws -> [ScopedRow] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(Self.columns) FROM trueup_pass_rows AS q
                JOIN subscriptions AS s ON s.bundle_id = q.bundle_id
                    AND s.environment = q.environment
                    AND s.original_transaction_id = q.original_transaction_id
                \(Self.known) WHERE q.pass_id = ? AND q.asks_again = 1
                ORDER BY q.bundle_id, q.environment, q.original_transaction_id LIMIT ?
                """)
        return try collect(statement, [passID, limit])
    }

    private func collect(
        _ statement: Statement, _ arguments: StatementArguments,
        _ look: (Row, ScopedRow) throws -> Void = { _, _ in }
    ) throws -> [ScopedRow] {
        var found: [Found] = []
        let cursor = try Row.fetchCursor(statement, arguments: arguments)
        let first = LocalSubscription.columnCount
        while let row = try cursor.next() {
            var scoped = ScopedRow(row: LocalSubscription(row))
            if let day = row.text(at: first), let days = row.number(at: first + 2) {
                scoped.absence = AbsenceRecord(
                    firstDay: day, lastDay: row.requiredText(at: first + 1), distinctDays: days)
            }
            try look(row, scoped)
            var item = Found(row: scoped)
            item.revision = row.text(at: first + 3)
            item.hasPeriods = row.number(at: first + 4) == 1
            item.hasDuplicates = row.number(at: first + 5) == 1
            if let periods = row.number(at: first + 6), let digest = row.text(at: first + 7) {
                item.agreed = PeriodsDigest(periods: periods, sha256: digest)
            }
            item.hasOpenPeriods = row.number(at: first + 8) == 1
            item.hasStandIns = row.number(at: first + 9) == 1
            found.append(item)
        }
        return try found.map { item in
            var scoped = item.row
            if item.hasPeriods { scoped.periods = try periods(of: scoped.row.key) }
            if item.hasDuplicates { scoped.duplicates = try duplicates(of: scoped.row) }
            if item.hasStandIns { scoped.standIns = try StandIns(db: db).rows(of: scoped.row.key) }
            item.noteHistory(in: &scoped)
            return scoped
        }
    }

    /// A row with what was read beside it.
    private struct Found {
        var row: ScopedRow
        var hasPeriods = false
        var hasDuplicates = false
        var revision: String?
        /// The periods with which the last reading of the history agreed.
        var agreed: PeriodsDigest?
        var hasOpenPeriods = false
        var hasStandIns = false

        init(row: ScopedRow) { self.row = row }

        /// Only periods that are still those of the last reading may be read on from its revision.
        func noteHistory(in scoped: inout ScopedRow) {
            let digest = PeriodsDigest(scoped.periods)
            let moved = agreed.map { $0 != digest } ?? false
            scoped.periodsDigest = digest
            scoped.needsWholeHistory = moved || hasOpenPeriods
            scoped.keptPeriods = (agreed?.periods ?? 0) > 0
            if !scoped.needsWholeHistory, agreed != nil { scoped.historyRevision = revision }
        }
    }

    /// The stored periods of a subscription, by transaction id.
    func periods(of key: SubscriptionKey) throws -> [LocalTransaction] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(LocalTransaction.columns) FROM transactions AS t
                WHERE t.bundle_id = ? AND t.environment = ? AND t.original_transaction_id = ?
                ORDER BY t.transaction_id
                """)
        var rows: [LocalTransaction] = []
        let cursor = try Row.fetchCursor(statement, arguments: key.arguments)
        while let row = try cursor.next() { rows.append(LocalTransaction(row)) }
        return rows
    }

    private func duplicates(of row: LocalSubscription) throws -> [SubscriptionKey] {
        let key = row.key
        let statement = try db.cachedStatement(
            sql: """
                SELECT bundle_id, environment, original_transaction_id FROM subscriptions
                WHERE original_transaction_id = ? AND (bundle_id <> ? OR environment <> ?)
                UNION
                SELECT bundle_id, environment, original_transaction_id FROM subscriptions
                WHERE web_order_line_item_id = ? AND \(Self.isLineItem("web_order_line_item_id"))
                    AND bundle_id = ? AND environment = ? AND original_transaction_id <> ?
                ORDER BY bundle_id, environment, original_transaction_id
                LIMIT \(Self.duplicatesListed)
                """)
        let arguments: StatementArguments = [
            key.originalTransactionID, key.bundleID, key.environment, row.webOrderLineItemID,
            key.bundleID, key.environment, key.originalTransactionID,
        ]
        var keys: [SubscriptionKey] = []
        let cursor = try Row.fetchCursor(statement, arguments: arguments)
        while let row = try cursor.next() { keys.append(SubscriptionKey(row, at: 0)) }
        return keys
    }
}
