import Subscriptions

/// Refunds, and what becomes of them.
extension World {
    /// Refunds one period; the subscription ends only when it is the current one.
    ///
    /// `percent`: 100 for a full refund, less for a prorated one.
    mutating func refund(
        chain index: Int, period: Int, percent: UInt8, reason: UInt8, at moment: Timestamp
    ) {
        guard chains[index].transactions.indices.contains(period) else { return }
        chains[index].transactions[period].revoke(
            percent == 100 ? .refundFull : .refundProrated, percent: percent, reason: reason,
            at: moment)
        let isCurrent = period == chains[index].transactions.count - 1
        if isCurrent, chains[index].isSubscription {
            chains[index].phase = .revoked
            chains[index].renewal.willRenew = false
            chains[index].renewal.isInBillingRetry = false
            chains[index].renewal.gracePeriodExpiresDate = nil
            schedule(.none, at: PurchaseChain.never, chain: index)
        }
        notify(.refund, chain: index, period: period, at: moment)
    }

    /// The period whose refund can be taken back: the current one, else the latest refunded.
    func refundedPeriod(chain index: Int) -> Int? {
        let transactions = chains[index].transactions
        let refunded = transactions.indices.filter {
            [.refundFull, .refundProrated].contains(transactions[$0].revocation)
        }
        if refunded.last == transactions.count - 1 { return refunded.last }
        return refunded.max { left, right in
            (transactions[left].revocationDate ?? PurchaseChain.never, left)
                < (transactions[right].revocationDate ?? PurchaseChain.never, right)
        }
    }

    /// Gives back what the refund of a period took; dates stay as they were.
    mutating func reverseRefund(chain index: Int, period: Int, at moment: Timestamp) {
        chains[index].transactions[period].reinstate(at: moment)
        let current = chains[index].transactions.count - 1
        if period == current, chains[index].isSubscription {
            if chains[index].transactions[current].expiresDate > moment {
                chains[index].phase = .active
                chains[index].renewal.expirationIntent = 0
                planEnd(chain: index, from: moment)
            } else {
                chains[index].phase = .expired
                chains[index].renewal.expirationIntent = 1
                planReturn(chain: index, after: moment)
            }
        }
        notify(.refundReversed, chain: index, period: period, at: moment)
    }
}
