import Reconciliation
import Subscriptions

/// Finds our rows of a subscription that are stored under another id: the id of a later
/// transaction, or its id before a migration.
///
/// No status answer contains such an id, so before a subscription is inserted these rows are
/// searched.
struct StandInSearch: Sendable {
    let rows: RowReader

    /// What earlier looks found, and rows under the ids before a migration.
    func known(around item: Case) async throws(StoreError) -> [String: [SubscriptionKey]] {
        let missing = Self.missing(in: item)
        guard !missing.isEmpty else { return [:] }
        var found = try await rows.standIns(
            of: missing.map(\.originalTransactionID), in: item.app)
        let before = missing.compactMap(\.transaction.previousOriginalTransactionID)
        guard !before.isEmpty else { return found }
        let held = try await rows.rows(holding: before)
        for stated in missing {
            let standing = held.map(\.row.key).filter {
                $0.originalTransactionID == stated.transaction.previousOriginalTransactionID
            }
            found[stated.originalTransactionID, default: []] += standing
        }
        return found
    }

    /// Rows under the ids of later transactions that the customer's history names.
    func listed(in item: Case) async throws(StoreError) -> [String: [SubscriptionKey]] {
        guard case .complete(let transactions) = item.history else { return [:] }
        let missing = Set(Self.missing(in: item).map(\.originalTransactionID))
        let later = transactions.filter {
            missing.contains($0.originalTransactionID)
                && $0.transactionID != $0.originalTransactionID
        }
        guard !later.isEmpty else { return [:] }
        let originals = Dictionary(
            later.map { ($0.transactionID, $0.originalTransactionID) },
            uniquingKeysWith: { first, _ in first })
        var found: [String: [SubscriptionKey]] = [:]
        for row in try await rows.rows(holding: Array(originals.keys)) {
            guard let original = originals[row.row.key.originalTransactionID] else { continue }
            found[original, default: []].append(row.row.key)
        }
        return found
    }

    /// The subscriptions of the answer that we do not hold.
    static func missing(in item: Case) -> [StatedSubscription] {
        guard case .answered(let answer) = item.statuses else { return [] }
        let others = answer.subscriptions.filter {
            $0.originalTransactionID != item.asked?.row.key.originalTransactionID
        }
        guard !others.isEmpty else { return [] }
        let held = Set(item.held.map(\.row.key.originalTransactionID))
        return others.filter { !held.contains($0.originalTransactionID) }
    }
}
