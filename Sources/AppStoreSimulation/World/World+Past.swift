import Subscriptions

/// Earlier states of a subscription.
///
/// Every change of state sends a notification, and each notification keeps the state of its time. The
/// state before the oldest kept notification is derived from the transactions.
extension World {
    /// A chain in its state at a moment; `nil` before its first purchase.
    func snapshot(chain index: Int, at then: Timestamp) -> ChainSnapshot? {
        var chain = chains[index]
        guard let first = chain.transactions.first, first.purchaseDate <= then else { return nil }
        let records = records(ofChain: index)
        var transactions: [StoredTransaction] = []
        for (period, transaction) in chain.transactions.enumerated()
        where transaction.purchaseDate <= then {
            transactions.append(
                Self.transaction(
                    transaction, at: then, stated: records.filter { Int($0.transaction) == period })
            )
        }
        chain.transactions = transactions
        let earlier = records.last { $0.date <= then }
        let later = records.first { $0.date > then }
        if let earlier, later != nil {
            chain.renewal = earlier.renewal
            chain.streakStart = earlier.streakStart
            if let phase = PurchaseChain.Phase(rawValue: earlier.status) { chain.phase = phase }
        } else if let later, chain.isSubscription {
            deriveState(of: &chain, before: later, at: then)
        }
        return snapshot(chain: index).with(chain)
    }

    /// The kept notifications of a chain, oldest first.
    private func records(ofChain index: Int) -> [NotificationRecord] {
        notifications.filter { Int($0.chain) == index && $0.date <= now }
    }

    private static func transaction(
        _ transaction: StoredTransaction, at then: Timestamp, stated: [NotificationRecord]
    ) -> StoredTransaction {
        guard transaction.modifiedDate > then else { return transaction }
        var past = transaction
        if let last = stated.last(where: { $0.date <= then }), let state = last.transactionAsSent {
            past = state.restored(transaction)
        } else if let next = stated.first(where: { $0.date > then }) {
            past.reinstate(at: transaction.purchaseDate)
            past.isUpgraded = false
            if next.event != .renewalExtended, let state = next.transactionAsSent {
                past.expiresDate = state.expiresDate
            }
        } else {
            past.reinstate(at: transaction.purchaseDate)
            past.isUpgraded = false
        }
        past.modifiedDate = max(
            past.purchaseDate, stated.last { $0.date <= then }?.date ?? past.purchaseDate)
        return past
    }

    /// Sets the state before the first kept notification.
    ///
    /// No notification was sent for months, so the subscription was either within a period or had
    /// ended long before.
    private func deriveState(
        of chain: inout PurchaseChain, before later: NotificationRecord, at then: Timestamp
    ) {
        guard let current = chain.current else { return }
        chain.streakStart =
            later.event == .subscribedResubscribe
            ? chain.streakStart : later.streakStart
        chain.renewal.renewalDate = current.expiresDate
        chain.renewal.isInBillingRetry = false
        chain.renewal.gracePeriodExpiresDate = nil
        chain.renewal.nextProduct = current.product
        chain.renewal.nextOffer = 0
        chain.renewal.priceIncrease = .none
        if current.revocationDate != nil {
            chain.phase = .revoked
            chain.renewal.willRenew = false
        } else if current.expiresDate > then {
            chain.phase = .active
            chain.renewal.expirationIntent = 0
            chain.renewal.willRenew = ![.didChangeRenewalStatusEnabled, .expiredVoluntary].contains(
                later.event)
        } else {
            chain.phase = .expired
            chain.renewal.expirationIntent = max(1, chain.renewal.expirationIntent)
            chain.renewal.willRenew = false
        }
    }
}
