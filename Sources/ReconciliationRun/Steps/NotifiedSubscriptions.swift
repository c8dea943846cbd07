import Reconciliation
import Subscriptions

/// Sorts the subscriptions that notifications name: those whose row agrees with the signed statement
/// in the notification are settled by it, without a call; about the others Apple must be asked.
struct NotifiedSubscriptions {
    let context: RunContext
    let app: AppIdentity

    func sort(
        _ notifications: [RecordedNotification]
    ) async throws -> (settled: [RowOutcome], owed: [OwedQuestion]) {
        let newest = Self.newest(of: notifications)
        let rows = try await context.rows.rows(holding: Array(newest.keys))
        let held = Dictionary(
            rows.filter { $0.row.key.isOf(app) }.map {
                ($0.row.key.originalTransactionID, $0)
            }, uniquingKeysWith: { first, _ in first })
        var policy = context.job.policy
        policy.now = context.clock.now()
        var settled: [RowOutcome] = []
        var owed: [OwedQuestion] = []
        for (id, notification) in newest {
            let row = held[id]
            if let row, Self.isPast(notification, for: row) { continue }
            if let row, let outcome = agreement(of: row, with: notification, policy: policy) {
                settled.append(outcome)
                continue
            }
            owed.append(
                OwedQuestion(
                    key: SubscriptionKey(app: app, originalTransactionID: id),
                    restsOn: notification.statedDate,
                    isEntitling: row?.row.isEntitling ?? false))
        }
        return (settled.sorted { $0.key < $1.key }, owed.sorted { $0.key < $1.key })
    }

    private static func newest(
        of notifications: [RecordedNotification]
    ) -> [String: RecordedNotification] {
        var newest: [String: RecordedNotification] = [:]
        for notification in notifications {
            guard let id = notification.originalTransactionID else { continue }
            if let other = newest[id], other.statedDate >= notification.statedDate { continue }
            newest[id] = notification
        }
        return newest
    }

    /// Whether the row was judged by a statement of Apple's that is not older.
    private static func isPast(_ notification: RecordedNotification, for row: ScopedRow) -> Bool {
        guard let known = row.check?.check.signedDate else { return false }
        return known >= notification.statedDate
    }

    /// The match, where the statement of the notification leaves nothing to ask, report or write.
    ///
    /// A job that covers every row asks about every row.
    private func agreement(
        of row: ScopedRow, with notification: RecordedNotification, policy: Policy
    ) -> RowOutcome? {
        guard context.settlesByNotification, let stated = notification.stated else { return nil }
        var item = Case(app: app, askedID: row.row.key.originalTransactionID, asked: row)
        item.statuses = .answered(StatusAnswer(subscriptions: [stated]))
        guard case .outcomes(let outcomes) = judge(item, policy: policy), outcomes.count == 1,
            let outcome = outcomes.first, outcome.key == row.row.key, outcome.verdict == .match,
            outcome.findings.isEmpty, outcome.corrections.isEmpty, outcome.check != nil
        else { return nil }
        return outcome
    }
}

extension RecordedNotification {
    /// When Apple signed what it says of the subscription.
    fileprivate var statedDate: Timestamp { stated?.signedDate ?? signedDate }
}

extension SubscriptionKey {
    fileprivate func isOf(_ app: AppIdentity) -> Bool {
        bundleID == app.bundleID && environment == app.environment.rawValue
    }
}
