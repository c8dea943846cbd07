import Subscriptions

/// The stored periods of one row beside the periods that Apple states.
struct PeriodComparison: Sendable {
    let scoped: ScopedRow
    let now: Timestamp
    /// The transaction that the status answer calls the last one.
    let current: SignedTransaction
    /// Apple's periods of this subscription out of its history, oldest first.
    let stated: [StatedPeriod]
    /// The same and the current period of the status answer, which needs no history.
    let priced: [StatedPeriod]
    /// Every transaction of the subscription at hand, by its id.
    private let signed: [String: SignedTransaction]
    /// Every transaction of a complete history; `nil` when absence proves nothing.
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

    /// Whether the company keeps period rows of this subscription.
    ///
    /// A company that kept them at the last reading and has none now has lost them.
    var areKept: Bool { !scoped.periods.isEmpty || scoped.keptPeriods }

    /// Whether the whole history of this subscription is at hand.
    var isComplete: Bool { complete != nil }

    /// Periods in Apple's history that we do not hold.
    var missing: [StatedPeriod] {
        stated.filter { period in !scoped.periods.contains(where: period.includes) }
    }

    /// Apple's transaction of the id that a stored period has; `nil` where none is at hand.
    func ownTransaction(of period: LocalTransaction) -> SignedTransaction? {
        signed[period.key.transactionID]
    }

    /// Stored periods in which a column is empty that Apple's transaction of the same id states, and
    /// that may be written; by key.
    func fills(policy: Policy) -> [PeriodFill] {
        scoped.periods.compactMap { period in
            ownTransaction(of: period).flatMap {
                PeriodFill(of: period, from: $0, policy: policy)
            }
        }.sorted { $0.period.key < $1.period.key }
    }

    /// Whether a stored period lacks what only Apple's history can state, and the history was not
    /// asked yet with the periods as they are.
    ///
    /// What a reading left empty Apple does not state: it is not asked for every night.
    func lackStatements(policy: Policy) -> Bool {
        guard scoped.historyRevision == nil else { return false }
        return scoped.periods.contains { period in
            period.key.transactionID != current.transactionID
                && TransactionField.statedOfEveryPeriod.contains {
                    period.value(of: $0) == .null && policy.writesInPeriods($0)
                }
        }
    }

    /// The transaction that a period is named by, so that all findings about it name the same: of
    /// the current period the current one, whichever device or restore made it.
    func transactionID(of period: StatedPeriod) -> String {
        period.contains(current) ? current.transactionID : period.transaction.transactionID
    }

    /// Periods of ours that are in no transaction of Apple's complete history, under whatever
    /// original id: Apple has been seen to list one under another than before.
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
    /// What was read, as far as it may be relied on.
    var transactions: [SignedTransaction] {
        switch self {
        case .complete(let transactions), .since(_, let transactions): transactions
        case .incomplete: []
        }
    }
}
