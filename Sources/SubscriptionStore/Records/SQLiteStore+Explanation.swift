import Foundation
import GRDB
package import Subscriptions

extension SQLiteStore {
    /// Everything that is known about an original transaction id, for each app and environment that
    /// knows it, and about the subscriptions of a customer with this id.
    ///
    /// - Parameters:
    ///   - id: The original transaction id, or a `customer_id`.
    ///   - apps: The configured apps, where nothing but bookkeeping may be left of it.
    ///   - limit: How many runs to tell of.
    /// - Returns: By key; empty for an unknown id.
    /// - Throws: `StoreError` when the database cannot be read.
    package func explanations(
        of id: String, apps: [AppIdentity], nights limit: Int
    ) throws(StoreError) -> [SubscriptionExplanation] {
        let doing = "explaining a subscription"
        do {
            return try stream(doing) { db in
                let customers = try EvidenceErasure.subscriptions(ofCustomer: id, db)
                let ids = Set(customers.map(\.originalTransactionID)).union([id]).sorted()
                let held = try ids.flatMap { try HeldRows(db: db).holding($0).map(\.row) }.filter {
                    $0.key.originalTransactionID == id || customers.contains($0.key)
                }
                let rows = Dictionary(
                    held.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
                let configured = apps.map { SubscriptionKey(app: $0, originalTransactionID: id) }
                return try Set(configured).union(rows.keys).union(customers).sorted().compactMap {
                    key in
                    var reader = ExplanationReader(db: db, key: key, row: rows[key])
                    try reader.read(nights: limit)
                    return reader.explanation.isEmpty ? nil : reader.explanation
                }
            }
        } catch {
            throw StoreError(error, doing: doing)
        }
    }
}

/// Collects what stands about one subscription.
private struct ExplanationReader {
    let db: Database
    var explanation: SubscriptionExplanation

    init(db: Database, key: SubscriptionKey, row: LocalSubscription?) {
        self.db = db
        explanation = SubscriptionExplanation(key: key)
        explanation.row = row
    }

    private var key: StatementArguments { explanation.key.arguments }

    private static let isOfKey = """
        bundle_id = ? AND environment = ? AND original_transaction_id = ?
        """

    mutating func read(nights limit: Int) throws {
        explanation.check = try Row.fetchOne(
            db,
            sql: """
                SELECT \(CheckRecord.columns.joined(separator: ", ")) FROM trueup_checks
                WHERE \(Self.isOfKey)
                """, arguments: key
        ).flatMap { CheckRecord($0, at: 0) }
        explanation.owed = try owed()
        explanation.absence = try Row.fetchOne(
            db,
            sql: """
                SELECT first_day, last_day, distinct_days FROM trueup_absences
                WHERE \(Self.isOfKey)
                """, arguments: key
        ).map {
            AbsenceRecord(
                firstDay: $0.requiredText(at: 0), lastDay: $0.requiredText(at: 1),
                distinctDays: $0.number(at: 2) ?? 0)
        }
        explanation.findings = try findings()
        explanation.corrections = try Row.fetchAll(
            db,
            sql: """
                SELECT \(LedgerEntry.columns) FROM trueup_ledger AS l
                WHERE l.bundle_id = ? AND l.environment = ? AND l.original_transaction_id = ?
                ORDER BY l.entry
                """, arguments: key
        ).map { try LedgerEntry($0) }
        explanation.notifications = try notifications()
        explanation.nights = try SubscriptionNights(db: db, about: explanation).last(limit)
    }

    private func owed() throws -> AgendaEntry? {
        let line = try Row.fetchOne(
            db,
            sql: """
                SELECT reason, since, rests_on, attempts FROM trueup_agenda
                WHERE \(Self.isOfKey)
                """, arguments: key)
        guard let line, let reason = QuestionReason(rank: line.integer(at: 0) ?? -1) else {
            return nil
        }
        return AgendaEntry(
            reason: reason, since: line.time(at: 1) ?? Timestamp(unixMilliseconds: 0),
            restsOn: line.time(at: 2), attempts: line.number(at: 3) ?? 0)
    }

    private func findings() throws -> [RememberedFinding] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT finding_id, state, first_seen, last_seen, kind, severity, last_pass_id
                FROM trueup_findings WHERE \(Self.isOfKey) ORDER BY first_seen, finding_id
                """, arguments: key
        ).map { row in
            let unknown = Timestamp(unixMilliseconds: 0)
            return RememberedFinding(
                findingID: row.requiredText(at: 0), state: row.requiredText(at: 1),
                firstSeen: row.time(at: 2) ?? unknown, lastSeen: row.time(at: 3) ?? unknown,
                kind: row.requiredText(at: 4), severity: row.requiredText(at: 5),
                finding: try newest(row.requiredText(at: 0), inPass: row.integer(at: 6)))
        }
    }

    private func newest(_ findingID: String, inPass passID: Int64?) throws -> Finding? {
        try Row.fetchOne(
            db,
            sql: """
                SELECT \(Finding.columns) FROM trueup_pass_findings AS f
                WHERE f.pass_id = ? AND f.finding_id = ?
                ORDER BY f.superseded_by IS NOT NULL, f.finding_seq DESC LIMIT 1
                """, arguments: [passID, findingID]
        ).map { try Finding($0) }
    }

    private func notifications() throws -> [StoredNotification] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT notification_uuid, notification_type, subtype, signed_date, received_at,
                    recovered_at, verdict, evidence, attempts
                FROM trueup_notifications
                WHERE \(Self.isOfKey) ORDER BY signed_date, notification_uuid
                """, arguments: key
        ).map { row in
            var stored = StoredNotification(
                notificationUUID: row.requiredText(at: 0), notificationType: row.text(at: 1),
                subtype: row.text(at: 2), signedDate: row.time(at: 3),
                receivedAt: row.time(at: 4), recoveredAt: row.time(at: 5), verdict: row.text(at: 6),
                evidence: row.text(at: 7))
            stored.attempts = Self.attempts(row.text(at: 8))
            return stored
        }
    }

    /// One attempt as `NotificationRecorder` keeps it.
    private struct KeptAttempt: Decodable {
        let attemptDate: String
        let result: String

        enum CodingKeys: String, CodingKey {
            case attemptDate = "attempt_date"
            case result
        }
    }

    /// Oldest first; none where the text is not of that form.
    private static func attempts(_ text: String?) -> [SendAttempt] {
        let kept = text.flatMap {
            try? JSONDecoder().decode([KeptAttempt].self, from: Data($0.utf8))
        }
        return (kept ?? []).compactMap { attempt in
            Timestamp(rfc3339: attempt.attemptDate).map {
                SendAttempt(attemptDate: $0, result: attempt.result)
            }
        }.sorted { $0.attemptDate < $1.attemptDate }
    }
}
