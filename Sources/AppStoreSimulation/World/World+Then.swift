import Subscriptions

/// The world as it was: what older statements say.
///
/// The state of a subscription changes with a notification, and each keeps what was true when it was
/// sent; what lies before the kept ones follows from the transactions themselves.
extension World {
    /// A chain as it stood at a moment, or `nil` where it did not exist yet.
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
            guess(&chain, before: later, at: then)
        }
        return ChainSnapshot(index: index, chain: chain, account: accounts[Int(chain.account)])
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
        if let last = stated.last(where: { $0.date <= then }), let state = last.transactionThen {
            past = state.restored(transaction)
        } else if let next = stated.first(where: { $0.date > then }) {
            past.reinstate(at: transaction.purchaseDate)
            past.isUpgraded = false
            if next.event != .renewalExtended, let state = next.transactionThen {
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

    /// The state before the first kept notification: nothing was told for months, so a period simply
    /// ran, or the subscription had long ended.
    private func guess(
        _ chain: inout PurchaseChain, before later: NotificationRecord, at then: Timestamp
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
