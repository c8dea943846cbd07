import GRDB
import Subscriptions

/// Closes findings of earlier nights that this pass looked for and did not find again.
///
/// What it did not look at stays open: rows that it did not judge, and of judged rows what lies
/// deeper than the judgement went.
struct FindingResolution {
    let db: Database
    let passID: Int64

    /// What a finding is called that nobody has mended.
    static let unresolved = "('new', 'open', 'recurring', 'acknowledged')"

    /// Works on the findings with ids from the first on and before the end.
    func write(from first: String, to end: String) throws {
        try resolveRows(first, end)
        try resolveNotifications(first, end)
    }

    /// How deep a judgement must have looked to tell that a finding of a kind is mended.
    private static let neededLook = """
        CASE WHEN h.kind IN ('transaction_missing', 'transaction_unknown', 'price')
                THEN \(LookDepth.periods.rawValue)
            WHEN h.kind IN ('not_found', 'account_not_found', 'invalid_id', 'migrated',
                    'wrong_environment', 'wrong_app', 'duplicate_local', 'unreadable_value')
                THEN \(LookDepth.standing.rawValue)
            ELSE \(LookDepth.statement.rawValue) END
        """

    /// Every status answer shows the price of the current period; older ones only the history.
    private static let isOfCurrentPeriod = """
        h.kind = 'price' AND p.look >= \(LookDepth.statement.rawValue)
            AND EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                JOIN subscriptions AS s ON s.bundle_id = h.bundle_id
                    AND s.environment = h.environment
                    AND s.original_transaction_id = h.original_transaction_id
                    AND s.latest_transaction_id = f.transaction_id
                WHERE f.pass_id = h.last_pass_id AND f.finding_id = h.finding_id)
        """

    private func resolveRows(_ first: String, _ end: String) throws {
        try db.execute(
            sql: """
                UPDATE trueup_findings AS h SET state = 'resolved'
                WHERE h.state IN \(Self.unresolved) AND h.finding_id >= ?2 AND h.finding_id < ?3
                    AND h.last_pass_id <> ?1
                    AND h.kind NOT IN ('notification_missed', 'notification_lost')
                    AND EXISTS (SELECT 1 FROM trueup_pass_rows AS p
                        WHERE p.pass_id = ?1 AND p.bundle_id = h.bundle_id
                            AND p.environment = h.environment
                            AND p.original_transaction_id = h.original_transaction_id
                            AND p.verdict IN (
                                \(VerdictCode.match.rawValue), \(VerdictCode.discrepancy.rawValue))
                            AND (p.look >= \(Self.neededLook) OR \(Self.isOfCurrentPeriod)))
                """,
            arguments: [passID, first, end])
    }

    /// A notification was looked at when Apple's history showed it again.
    private func resolveNotifications(_ first: String, _ end: String) throws {
        try db.execute(
            sql: """
                UPDATE trueup_findings AS h SET state = 'resolved'
                WHERE h.state IN \(Self.unresolved) AND h.finding_id >= ?2 AND h.finding_id < ?3
                    AND h.last_pass_id <> ?1
                    AND h.kind IN ('notification_missed', 'notification_lost')
                    AND EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                        JOIN trueup_pass_notifications AS n ON n.pass_id = ?1
                            AND n.bundle_id = f.bundle_id AND n.environment = f.environment
                            AND n.notification_uuid = f.field
                        WHERE f.pass_id = h.last_pass_id AND f.finding_id = h.finding_id
                            AND n.verdict NOT IN ('missed', 'lost'))
                """,
            arguments: [passID, first, end])
    }
}
