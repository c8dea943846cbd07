import SubscriptionStore
import Subscriptions

/// Reads the company's rows together with what earlier runs noted about them.
///
/// The two are read one after the other: the notes change only by this run, which holds the lock.
struct RowReader: Sendable {
    let store: SQLiteStore

    /// The rows held under these original transaction ids in any app and environment, by key.
    func rows(
        holding originalTransactionIDs: [String]
    ) async throws(StoreError) -> [ScopedRow] {
        try await withNotes(await store.rows(holding: originalTransactionIDs))
    }

    /// The rows of these ids that stand under apps which this run does not read, by id.
    func rowsOfUnreadApps(
        holding originalTransactionIDs: [String]
    ) async throws(StoreError) -> [String: SubscriptionKey] {
        Dictionary(
            try await store.keysOfUnreadApps(holding: originalTransactionIDs)
                .map { ($0.originalTransactionID, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Rows with what is noted about them, in the same order.
    func withNotes(_ held: [HeldRow]) async throws(StoreError) -> [ScopedRow] {
        guard !held.isEmpty else { return [] }
        let notes = try await store.notes(about: held.map(\.row.key))
        return held.map { ScopedRow($0, notes[$0.row.key] ?? RowNotes()) }
    }

    /// The rows that stand under ids of later transactions of these original transaction ids, as far
    /// as an earlier look found any; by true original id.
    func standIns(
        of originalTransactionIDs: [String], in app: AppIdentity
    ) async throws(StoreError) -> [String: [SubscriptionKey]] {
        let keys = Set(originalTransactionIDs).map {
            SubscriptionKey(app: app, originalTransactionID: $0)
        }
        return Dictionary(
            try await store.notes(about: keys)
                .filter { !$0.value.standIns.isEmpty }
                .map { ($0.key.originalTransactionID, $0.value.standIns) },
            uniquingKeysWith: { first, _ in first })
    }
}
