import GRDB
import Subscriptions

/// Measures how late the notifications came that a run read of Apple's history first.
struct DeliveryCount {
    let db: Database
    let run: RunReference
    let started: Timestamp

    /// `nil` where the run read none.
    func delays() throws -> DeliveryDelays? {
        // How each was sent is only kept of notifications about a subscription.
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT n.signed_date, n.verdict, d.received_at, d.attempts, i.recovered_at
                FROM trueup_pass_notifications AS n
                JOIN trueup_pass_deliveries AS d ON d.pass_id = n.pass_id
                    AND d.bundle_id = n.bundle_id AND d.environment = n.environment
                    AND d.original_transaction_id = n.original_transaction_id
                    AND d.signed_date = n.signed_date
                    AND d.notification_uuid = n.notification_uuid
                LEFT JOIN trueup_notifications AS i ON i.notification_uuid = n.notification_uuid
                WHERE n.pass_id = ? AND n.staged_by = ?
                """, arguments: [run.passID, run.sequence])
        var (arrived, recovered) = (DelayTally(), DelayTally())
        var (underway, read) = (0, 0)
        while let row = try rows.next() {
            read += 1
            guard let signed = row.time(at: 0) else { continue }
            if ["missed", "lost"].contains(row.requiredText(at: 1)) {
                let brought = row.time(at: 4) ?? started
                recovered.add(milliseconds: brought.milliseconds(since: signed))
            } else if let came = row.time(at: 2) ?? Self.delivered(row.requiredText(at: 3)) {
                arrived.add(milliseconds: came.milliseconds(since: signed))
            } else {
                underway += 1
            }
        }
        guard read > 0 else { return nil }
        return DeliveryDelays(
            arrived: arrived.figures, recovered: recovered.figures, underway: underway)
    }

    /// When Apple's first successful attempt was.
    private static func delivered(_ attempts: String) -> Timestamp? {
        SendAttemptText.decode(attempts).filter(\.isSuccess).map(\.attemptDate).min()
    }
}
