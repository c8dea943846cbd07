import Reconciliation
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

    /// The rows of these ids that are under apps which this run does not read, by id.
    func rowsOfUnreadApps(
        holding originalTransactionIDs: [String]
    ) async throws(StoreError) -> [String: SubscriptionKey] {
        Dictionary(
            keepingFirst: try await store.keysOfUnreadApps(holding: originalTransactionIDs)
                .map { ($0.originalTransactionID, $0) })
    }

    /// Rows with what is noted about them, in the same order.
    func withNotes(_ held: [StoredSubscription]) async throws(StoreError) -> [ScopedRow] {
        guard !held.isEmpty else { return [] }
        let notes = try await store.notes(about: held.map(\.row.key))
        return held.map { ScopedRow($0, notes[$0.row.key] ?? RowNotes()) }
    }

    /// The stored one-time purchases among these transactions, by transaction id; `nil` where none of the
    /// app is stored at all, or none of these is one.
    func purchases(
        _ transactions: [SignedTransaction], of app: AppIdentity
    ) async throws(StoreError) -> [String: LocalTransaction]? {
        let ids = Set(transactions.filter { !$0.isSubscription }.map(\.transactionID))
        guard !ids.isEmpty, let stored = try await store.purchases(of: app, holding: ids) else {
            return nil
        }
        return Dictionary(keepingFirst: stored.map { ($0.key.transactionID, $0) })
    }

    /// The stored one-time purchases of a customer; none without a name.
    func purchases(
        ofCustomer customerID: String?, in app: AppIdentity
    ) async throws(StoreError) -> [LocalTransaction] {
        guard let customerID, !customerID.isEmpty else { return [] }
        return try await store.purchases(
            of: .named(customerID), in: app, limit: RunLimits.purchasesPerCustomer)
    }
}

/// Finds our rows of a subscription that are stored under another id: the id of a later
/// transaction, or its id before a migration.
///
/// No status answer contains such an id, so before a subscription is inserted these rows are
/// searched.
extension RowReader {
    /// The findings of earlier runs, and rows under the ids before a migration.
    func knownAliasRows(
        of missing: [StatedSubscription], in app: AppIdentity
    ) async throws(StoreError) -> [String: [SubscriptionKey]] {
        let keys = Set(missing.map(\.originalTransactionID)).map {
            SubscriptionKey(app: app, originalTransactionID: $0)
        }
        var found = Dictionary(
            keepingFirst: try await store.notes(about: keys)
                .filter { !$0.value.aliasRows.isEmpty }
                .map { ($0.key.originalTransactionID, $0.value.aliasRows) })
        let before = missing.compactMap(\.transaction.previousOriginalTransactionID)
        guard !before.isEmpty else { return found }
        let held = try await rows(holding: before)
        for stated in missing {
            let standing = held.map(\.row.key).filter {
                $0.originalTransactionID == stated.transaction.previousOriginalTransactionID
            }
            found[stated.originalTransactionID, default: []] += standing
        }
        return found
    }

    /// Rows under the ids of later transactions that the customer's history names.
    func listedAliasRows(
        in item: Case
    ) async throws(StoreError) -> [String: [SubscriptionKey]] {
        guard case .complete(let transactions) = item.history else { return [:] }
        let missing = Set(item.missing.map(\.originalTransactionID))
        let later = transactions.filter {
            missing.contains($0.originalTransactionID)
                && $0.transactionID != $0.originalTransactionID
        }
        guard !later.isEmpty else { return [:] }
        let originals = Dictionary(
            keepingFirst: later.map { ($0.transactionID, $0.originalTransactionID) })
        var found: [String: [SubscriptionKey]] = [:]
        for row in try await rows(holding: Array(originals.keys)) {
            guard let original = originals[row.row.key.originalTransactionID] else { continue }
            found[original, default: []].append(row.row.key)
        }
        return found
    }
}

extension Case {
    /// The subscriptions of the answer that we do not hold.
    var missing: [StatedSubscription] {
        guard case .answered(let answer) = statuses else { return [] }
        let others = answer.subscriptions.filter {
            $0.originalTransactionID != asked?.row.key.originalTransactionID
        }
        guard !others.isEmpty else { return [] }
        let held = Set(self.held.map(\.row.key.originalTransactionID))
        return others.filter { !held.contains($0.originalTransactionID) }
    }
}

/// Reads a customer's transaction history, or the refunds of it, to its end, or says that it could not.
struct HistoryReader: Sendable {
    let store: any AppStore
    /// Whether only the refunds are read.
    var readsRefunds = false
    let tally: AnswerTally
    let clock: RunClock

    struct Reading: Sendable {
        var history: HistoryReading
        /// Where the next reading begins; `nil` unless this one reached the end.
        var revision: String?
        /// Fields of the pages that this version does not know, each once.
        var unknowns: [UnknownValue]
        /// Whether Apple does not find the id by which it was asked.
        var isNotFound = false
    }

    /// Pages until Apple says that there is no more.
    ///
    /// A revision that Apple no longer accepts is dropped and the reading starts over, once. Two
    /// pages with one revision, or an empty page that promises more, end it as incomplete.
    func read(_ id: TransactionID, after stored: String?) async throws(RunStop) -> Reading {
        if let reading = try await page(id, from: stored) { return reading }
        return try await page(id, from: nil)
            ?? .incomplete("Apple refused to continue the history")
    }

    /// - Returns: `nil` where the reading must start over.
    private func page(_ id: TransactionID, from start: String?) async throws(RunStop) -> Reading? {
        var transactions: [SignedTransaction] = []
        var unknowns: [UnknownValue] = []
        var revision = start
        var seen: Set<String> = start.map { [$0] } ?? []
        for _ in 0..<RunLimits.historyPagesPerCustomer {
            // Page after page it may take longer than all the rest of a run.
            if clock.isPastDeadline { throw .deadlineReached }
            let lookup =
                readsRefunds
                ? try await store.refundHistory(of: id, after: revision)
                : try await store.transactionHistory(of: id, after: revision)
            tally.note(lookup)
            switch lookup {
            case .answered(let page):
                tally.note(rejected: page.rejected)
                guard page.rejected.isEmpty else {
                    let isInvalid = page.rejected.contains { !$0.isUndetermined }
                    return .incomplete(
                        isInvalid
                            ? "a transaction in it did not verify"
                            : "whether a certificate in it is revoked could not be determined")
                }
                transactions += page.transactions
                unknowns += page.unknowns.filter { !unknowns.contains($0) }
                guard page.hasMore else {
                    return Reading(
                        history: start.map { .since(revision: $0, transactions) }
                            ?? .complete(transactions), revision: page.revision,
                        unknowns: unknowns)
                }
                guard !page.transactions.isEmpty, seen.insert(page.revision).inserted else {
                    return .incomplete("its pages repeat")
                }
                revision = page.revision
            case .restart: return nil
            case .transactionNotFound, .invalidID:
                var reading = Reading.incomplete("Apple does not find the id")
                reading.isNotFound = true
                return reading
            default: return .incomplete("a page of it was not answered")
            }
        }
        return .incomplete("it has more pages than the limit")
    }
}

extension HistoryReader.Reading {
    fileprivate static func incomplete(_ why: String) -> Self {
        Self(history: .incomplete(why), revision: nil, unknowns: [])
    }
}
