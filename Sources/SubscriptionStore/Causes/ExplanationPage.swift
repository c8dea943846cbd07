import GRDB
import Subscriptions

/// Reads findings in the order in which they were staged, with their subscription's notifications.
struct ExplanationPage {
    let db: Database
    let passID: Int64

    /// Of one subscription; nobody has so many in the time that Apple keeps them.
    private static let notificationsPerSubscription = 500

    func findings(after sequence: Int64?, limit: Int) throws -> [FindingToExplain] {
        let start = try sequence.map { $0 + 1 } ?? first()
        guard let start else { return [] }
        let counts = CountedAmount.isCounted(
            among: "(SELECT * FROM trueup_pass_findings WHERE superseded_by IS NULL) AS g")
        // By row number: an index would have SQLite sort the whole pass for each page.
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(Finding.columns), f.finding_seq,
                    CASE WHEN c.fate IN ('planned', 'applied') THEN f.correction_id END,
                    f.changed_at, f.action,
                    CASE WHEN c.fate = 'held_back' THEN c.continued_by ELSE '' END, (\(counts))
                FROM trueup_pass_findings AS f NOT INDEXED
                LEFT JOIN trueup_pass_corrections AS c ON c.correction_id = f.correction_id
                WHERE f.finding_seq >= ? AND f.pass_id = ? AND f.superseded_by IS NULL
                    AND f.is_carried = 0
                ORDER BY f.finding_seq LIMIT ?
                """)
        var page: [FindingToExplain] = []
        let rows = try Row.fetchCursor(statement, arguments: [start, passID, limit])
        let next = Finding.columnCount
        while let row = try rows.next() {
            var finding = try Finding(row)
            finding.changedAt = row.time(at: next + 2)
            finding.action = FindingAction(rawValue: row.requiredText(at: next + 3)) ?? .none
            if let reason = HeldBackCauses.reason(row.requiredText(at: next + 4)) {
                finding.action = .refused
                finding.cause = reason
            }
            var item = FindingToExplain(
                sequence: row.integer(at: next) ?? 0, finding: finding,
                correction: row.integer(at: next + 1), notifications: [])
            item.countsAmount = row.integer(at: next + 5) == 1
            page.append(item)
        }
        var known: (key: SubscriptionKey, notifications: [TracedNotification])?
        for index in page.indices {
            guard let key = page[index].finding.key else { continue }
            if known?.key != key { known = (key, try notifications(of: key)) }
            page[index].notifications = known?.notifications ?? []
        }
        return page
    }

    /// Findings of earlier passes are kept; their rows must not be read through each time.
    private func first() throws -> Int64? {
        try Int64.fetchOne(
            db,
            sql: """
                SELECT min(finding_seq) FROM trueup_pass_findings
                WHERE pass_id = ? AND superseded_by IS NULL
                """,
            arguments: [passID])
    }

    private func notifications(of key: SubscriptionKey) throws -> [TracedNotification] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT notification_uuid, notification_type, subtype, signed_date, attempts,
                    received_at, is_reported
                FROM trueup_pass_deliveries
                WHERE pass_id = ? AND bundle_id = ? AND environment = ?
                    AND original_transaction_id = ?
                ORDER BY signed_date DESC, notification_uuid LIMIT ?
                """)
        var found: [TracedNotification] = []
        let rows = try Row.fetchCursor(
            statement,
            arguments: [passID] + key.arguments + [Self.notificationsPerSubscription])
        while let row = try rows.next() {
            found.append(
                TracedNotification(
                    notificationUUID: row.requiredText(at: 0),
                    notificationType: row.requiredText(at: 1), subtype: row.text(at: 2),
                    signedDate: row.time(at: 3) ?? Timestamp(unixMilliseconds: 0),
                    originalTransactionID: key.originalTransactionID,
                    sendAttempts: SendAttemptText.decode(row.requiredText(at: 4)),
                    receivedAt: row.time(at: 5), isReported: row.integer(at: 6) == 1))
        }
        return found
    }
}
