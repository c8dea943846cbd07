import Subscriptions

/// Family Sharing: a member has an Apple Account, transactions and ids of its own, which follow
/// the purchaser's subscription.
extension World {
    /// Brings the members of a chain to its state.
    mutating func mirror(chain leader: Int) {
        var follower = chains[leader].firstFollower
        while follower >= 0 {
            mirror(leader: leader, to: Int(follower))
            follower = chains[Int(follower)].nextFollower
        }
    }

    /// Shares the subscription with one more account.
    @discardableResult
    mutating func share(chain leader: Int, with account: Int) -> Int {
        let shared = chains.count
        var chain = PurchaseChain(
            account: Int32(account), phase: chains[leader].phase,
            product: chains[leader].renewal.nextProduct, start: chains[leader].streakStart,
            random: SeededRandom(seed: seed, stream: UInt64(shared) &+ 0xFA_3117))
        chain.isFamilyShared = true
        chain.isScripted = chains[leader].isScripted
        chain.leader = Int32(leader)
        chain.sharedFrom = Int32(max(0, chains[leader].transactions.count - 1))
        chain.nextFollower = chains[leader].firstFollower
        chains.append(chain)
        chains[leader].firstFollower = Int32(shared)
        return shared
    }

    /// The members lose access: sharing ended, or they left the family.
    mutating func endSharing(leader: Int, at moment: Timestamp) {
        var follower = Int(chains[leader].firstFollower)
        while follower >= 0 {
            let next = Int(chains[follower].nextFollower)
            revokeSharing(member: follower, at: moment)
            chains[follower].leader = -1
            chains[follower].nextFollower = -1
            follower = next
        }
        chains[leader].firstFollower = -1
    }

    private mutating func revokeSharing(member: Int, at moment: Timestamp) {
        let last = chains[member].transactions.count - 1
        guard last >= 0, chains[member].transactions[last].revocationDate == nil else { return }
        chains[member].transactions[last].revocationDate = moment
        chains[member].transactions[last].modifiedDate = moment
        chains[member].transactions[last].revocation = .familyRevoke
        chains[member].phase = .revoked
        chains[member].renewal.willRenew = false
        chains[member].renewal.isInBillingRetry = false
        chains[member].renewal.gracePeriodExpiresDate = nil
        notify(.revoke, chain: member, at: moment)
    }

    /// Copies periods that the member lacks and the state of the last one.
    private mutating func mirror(leader: Int, to member: Int) {
        let from = Array(chains[leader].transactions.dropFirst(Int(chains[member].sharedFrom)))
        let known = chains[member].transactions.count
        let before = chains[member].phase
        for index in from.indices where index >= known {
            var period = from[index]
            period.price = 0
            period.offer = 0
            chains[member].transactions.append(period)
        }
        let last = from.count - 1
        guard last >= 0 else { return }
        chains[member].renewal = chains[leader].renewal
        chains[member].phase = chains[leader].phase
        for index in from.indices {
            chains[member].transactions[index].isUpgraded = from[index].isUpgraded
            chains[member].transactions[index].expiresDate = from[index].expiresDate
            chains[member].transactions[index].modifiedDate = from[index].modifiedDate
            chains[member].transactions[index].revocationDate = from[index].revocationDate
            chains[member].transactions[index].revocation =
                from[index].revocation == .none ? .none : .familyRevoke
            chains[member].transactions[index].revocationReason = from[index].revocationReason
        }
        tellMember(member, before: before, hasNewPeriod: last >= known, isFirst: known == 0)
    }

    private mutating func tellMember(
        _ member: Int, before: PurchaseChain.Phase, hasNewPeriod: Bool, isFirst: Bool
    ) {
        guard let current = chains[member].current else { return }
        if isFirst {
            notify(.subscribedInitialBuy, chain: member, at: current.purchaseDate)
        } else if hasNewPeriod {
            notify(
                current.isRenewal ? .didRenew : .subscribedResubscribe, chain: member,
                at: current.purchaseDate)
        } else if chains[member].phase == .revoked, before != .revoked {
            notify(.revoke, chain: member, at: current.modifiedDate)
        } else if chains[member].phase == .expired, before != .expired {
            notify(.expired, chain: member, at: current.expiresDate)
        }
    }
}
