import Subscriptions

extension World {
    /// Deletes an Apple Account: from then on nothing is charged and nobody is told anything about
    /// it.
    ///
    /// What was paid for runs out in silence, so that family members keep what was shared with them
    /// until then.
    mutating func delete(account: Int, at moment: Timestamp) {
        accounts[account].isDeleted = true
        for index in chains(ofAccount: account) where chains[index].isSubscription {
            guard !chains[index].isFamilyShared else { continue }
            chains[index].paymentFails = true
            chains[index].renewal.willRenew = false
            switch chains[index].phase {
            case .active:
                guard let current = chains[index].current else { continue }
                schedule(.expiry, at: current.expiresDate, chain: index)
            case .grace where chains[index].event == .recovery:
                schedule(
                    .graceEnd, at: chains[index].renewal.gracePeriodExpiresDate ?? moment,
                    chain: index)
            case .billingRetry where chains[index].event == .recovery:
                schedule(.retryEnd, at: retryEnd(chain: index) ?? moment, chain: index)
            case .grace, .billingRetry: break
            case .single, .expired, .revoked:
                schedule(.none, at: PurchaseChain.never, chain: index)
            }
        }
    }

    /// Whether the account of a chain was deleted.
    func isDeleted(chain index: Int) -> Bool {
        accounts[Int(chains[index].account)].isDeleted
    }
}
