import GRDB
import Subscriptions

/// Rows with an open finding about their stored periods, where these have changed since, and rows
/// whose key another one has by now.
///
/// The values of the row itself say nothing of them: without this, a finding that the company has mended
/// would stay open until a sweep or the sample reaches the row.
struct ChangedPeriods {
    let db: Database

    private static let kinds: String = {
        let kinds = FindingKind.allCases.filter { $0.neededLook == .periods }
        return "(" + kinds.map { "'\($0.rawValue)'" }.joined(separator: ", ") + ")"
    }()

    private static let isOpen = """
        h.state IN \(FindingLook.unresolved) AND h.original_transaction_id IS NOT NULL
        """

    private static func isOfRow(_ table: String) -> String {
        """
        \(table).bundle_id = h.bundle_id AND \(table).environment = h.environment
            AND \(table).original_transaction_id = h.original_transaction_id
        """
    }

    /// - Parameter readsHistories: Whether a question may lead to reading the history: only that
    ///   closes a finding about a period that is not the current one.
    /// - Returns: Keys of rows that are worth a question.
    /// - Throws: What reading the database throws.
    func rows(readsHistories: Bool) throws -> Set<SubscriptionKey> {
        try (readsHistories ? comparedRows() : []).union(rowsWithOtherPrice())
            .union(DoubledKeys(db: db).unreported())
    }

    /// By the digest that stood as the history was last compared with the periods.
    private func comparedRows() throws -> Set<SubscriptionKey> {
        let noted = try Row.fetchAll(
            db,
            sql: """
                SELECT DISTINCT h.bundle_id, h.environment, h.original_transaction_id,
                    r.periods, r.periods_sha256
                FROM trueup_findings AS h
                JOIN trueup_history_revisions AS r ON \(Self.isOfRow("r"))
                WHERE \(Self.isOpen) AND h.kind IN \(Self.kinds)
                    AND r.periods IS NOT NULL AND r.periods_sha256 IS NOT NULL
                """)
        var changed: Set<SubscriptionKey> = []
        for row in noted {
            let key = SubscriptionKey(row, at: 0)
            let agreed = PeriodsDigest(
                periods: row.number(at: 3) ?? 0, sha256: row.requiredText(at: 4))
            if try PeriodsDigest(HeldRows(db: db).periods(of: key)) != agreed {
                changed.insert(key)
            }
        }
        return changed
    }

    /// The price of the current period stands in every answer, so a history may never have been read.
    private func rowsWithOtherPrice() throws -> Set<SubscriptionKey> {
        let found = try Row.fetchAll(
            db,
            sql: """
                SELECT h.bundle_id, h.environment, h.original_transaction_id, f.transaction_id,
                    f.field, f.local_value
                FROM trueup_findings AS h
                JOIN trueup_pass_findings AS f ON f.pass_id = h.last_pass_id
                    AND f.outcome_bundle_id = h.bundle_id
                    AND f.outcome_environment = h.environment
                    AND f.outcome_original_transaction_id = h.original_transaction_id
                    AND f.finding_id = h.finding_id
                    AND (f.superseded_by IS NULL OR f.is_carried = 1)
                JOIN subscriptions AS s ON \(Self.isOfRow("s"))
                    AND s.latest_transaction_id = f.transaction_id
                WHERE \(Self.isOpen) AND h.kind = '\(FindingKind.price.rawValue)'
                """)
        var changed: Set<SubscriptionKey> = []
        for row in found {
            let key = SubscriptionKey(row, at: 0)
            let period = TransactionKey(
                bundleID: key.bundleID, environment: key.environment,
                transactionID: row.requiredText(at: 3))
            // `price:` or `currency:`, and the transaction.
            let column = row.requiredText(at: 4).prefix { $0 != ":" }
            let value = try FieldValueText.value(row.requiredText(at: 5))
            if try StandingRow.period(period, db)?[String(column)] != value {
                changed.insert(key)
            }
        }
        return changed
    }
}
