import Subscriptions

/// The stored periods of one row, and the periods that Apple states.
///
/// A class, so that the drafts of the many rows without periods are small.
final class PeriodComparison: Sendable {
    let scoped: ScopedRow
    let now: Timestamp
    /// The transaction that the status answer calls the last one.
    let current: SignedTransaction
    /// The periods of this subscription in Apple's history, oldest first.
    let stated: [StatedPeriod]
    /// The same and the current period of the status answer, which is known without the history.
    let priced: [StatedPeriod]
    /// Every known transaction of the subscription, by its id.
    private let signed: [String: SignedTransaction]
    /// Every transaction of a complete history; `nil` when the history is not complete, so that
    /// absence proves nothing.
    private let complete: [SignedTransaction]?

    init(
        scoped: ScopedRow, current: SignedTransaction, history: HistoryReading?, now: Timestamp
    ) {
        self.scoped = scoped
        self.now = now
        self.current = current
        let id = scoped.row.key.originalTransactionID
        let own = (history?.transactions ?? []).filter { $0.originalTransactionID == id }
        stated = StatedPeriod.periods(of: own)
        priced = StatedPeriod.periods(of: own + [current])
        signed = (own + [current]).latestByID
        if case .complete(let all) = history, !own.isEmpty {
            complete = all
        } else {
            complete = nil
        }
    }

    /// Whether the company stores periods of this subscription.
    ///
    /// Also when it has none now but had some at the last reading: then they were lost.
    var areKept: Bool { !scoped.periods.isEmpty || scoped.keptPeriods }

    /// Whether the complete history of this subscription is known.
    var isComplete: Bool { complete != nil }

    /// Periods in Apple's history that we do not hold.
    var missing: [StatedPeriod] {
        stated.filter { period in !scoped.periods.contains(where: period.includes) }
    }

    /// Apple's transaction with the id of a stored period; `nil` where it is not known.
    func ownTransaction(of period: LocalTransaction) -> SignedTransaction? {
        signed[period.key.transactionID]
    }

    /// The fills of stored periods: their empty columns that Apple's transaction with the same id
    /// states, as far as they may be written; sorted by key.
    func fills(policy: Policy) -> [PeriodFill] {
        scoped.periods.compactMap { period in
            ownTransaction(of: period).flatMap {
                PeriodFill(of: period, from: $0, policy: policy)
            }
        }.sorted { $0.period.key < $1.period.key }
    }

    /// Whether a stored period has empty columns that only the history can fill, and the history
    /// has not been read since the periods changed.
    ///
    /// A column that a reading left empty is not stated by Apple and must not cost a call each
    /// night.
    func lackStatements(policy: Policy) -> Bool {
        guard scoped.historyRevision == nil else { return false }
        return scoped.periods.contains { period in
            period.key.transactionID != current.transactionID
                && TransactionField.statedOfEveryPeriod.contains {
                    period.value(of: $0) == .null && policy.writesInPeriods($0)
                }
        }
    }

    /// The transaction id by which all findings name a period: for the current period the current
    /// transaction's, even where another device or a restore created it.
    func transactionID(of period: StatedPeriod) -> String {
        period.contains(current) ? current.transactionID : period.transaction.transactionID
    }

    /// Our periods that match no transaction of Apple's complete history, whatever its original id,
    /// because Apple is known to move transactions to another original id.
    var unknownToApple: [LocalTransaction] {
        guard let complete else { return [] }
        let ids = Set(complete.map(\.transactionID))
        let items = Set(complete.compactMap(\.webOrderLineItemID))
        return scoped.periods.filter { period in
            !ids.contains(period.key.transactionID)
                && !(period.webOrderLineItemID.map(items.contains) ?? false)
        }.sorted { $0.key < $1.key }
    }
}

extension HistoryReading {
    /// The transactions that were read; none when the reading is incomplete.
    var transactions: [SignedTransaction] {
        switch self {
        case .complete(let transactions), .since(_, let transactions): transactions
        case .incomplete: []
        }
    }
}
