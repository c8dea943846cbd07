import Subscriptions

/// Family Sharing: a member has its own Apple Account, transactions and ids; its subscription is kept
/// in step with the purchaser's.
extension World {
    /// Shares the subscription with one more account and notifies about it.
    ///
    /// The member's first period begins now and ends when the purchaser's does.
    @discardableResult
    mutating func share(chain leader: Int, with account: Int, at moment: Timestamp) -> Int {
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
        mirror(leader: leader, to: shared)
        if !chains[shared].transactions.isEmpty {
            chains[shared].transactions[0].purchaseDate = moment
            chains[shared].transactions[0].modifiedDate = moment
            chains[shared].transactions[0].isRenewal = false
        }
        record(.subscribedInitialBuy, chain: shared, at: moment)
        return shared
    }

    /// Copies the state of a chain to the members who share it.
    mutating func mirror(chain leader: Int) {
        var follower = chains[leader].firstFollower
        while follower >= 0 {
            mirror(leader: leader, to: Int(follower))
            follower = chains[Int(follower)].nextFollower
        }
    }

    /// Sends the members the purchaser's notification, about their own transactions.
    mutating func notifyFamily(
        _ event: NotificationEvent, leader: Int, period: Int?, at moment: Timestamp
    ) {
        guard let familyEvent = event.familyEvent else { return }
        let last = chains[leader].transactions.count - 1
        // The refund of an earlier period changes nothing for the members.
        if let period, period != last { return }
        var follower = chains[leader].firstFollower
        while follower >= 0 {
            record(familyEvent, chain: Int(follower), at: moment)
            follower = chains[Int(follower)].nextFollower
        }
    }

    /// Ends the sharing: all members lose access.
    mutating func endSharing(leader: Int, at moment: Timestamp) {
        var follower = Int(chains[leader].firstFollower)
        while follower >= 0 {
            let next = Int(chains[follower].nextFollower)
            revokeSharing(member: follower, at: moment)
            follower = next
        }
        chains[leader].firstFollower = -1
    }

    /// One member leaves the family and loses access.
    mutating func leaveFamily(member: Int, at moment: Timestamp) {
        let leader = Int(chains[member].leader)
        guard leader >= 0 else { return }
        if Int(chains[leader].firstFollower) == member {
            chains[leader].firstFollower = chains[member].nextFollower
        } else {
            var before = Int(chains[leader].firstFollower)
            while before >= 0, Int(chains[before].nextFollower) != member {
                before = Int(chains[before].nextFollower)
            }
            if before >= 0 { chains[before].nextFollower = chains[member].nextFollower }
        }
        revokeSharing(member: member, at: moment)
    }

    private mutating func revokeSharing(member: Int, at moment: Timestamp) {
        chains[member].leader = -1
        chains[member].nextFollower = -1
        let last = chains[member].transactions.count - 1
        guard last >= 0, chains[member].transactions[last].revocationDate == nil else { return }
        chains[member].transactions[last].revoke(
            .familyRevoke, percent: 0, reason: 0, at: moment)
        chains[member].phase = .revoked
        chains[member].renewal.willRenew = false
        chains[member].renewal.isInBillingRetry = false
        chains[member].renewal.gracePeriodExpiresDate = nil
        record(.revoke, chain: member, at: moment)
    }

    /// Copies the periods that the member lacks, and the changes of the others.
    private mutating func mirror(leader: Int, to member: Int) {
        let offset = Int(chains[member].sharedFrom)
        for index in chains[leader].transactions.indices where index >= offset {
            var period = chains[leader].transactions[index]
            period.offer = 0
            period.priceIncreasePercent = 0
            if period.revocation != .none { period.revocation = .familyRevoke }
            let place = index - offset
            guard place < chains[member].transactions.count else {
                chains[member].append(period)
                continue
            }
            let mine = chains[member].transactions[place]
            period.purchaseDate = mine.purchaseDate
            if index != chains[leader].transactions.count - 1,
                period.revocation != mine.revocation
            {
                // The refund of an earlier period changes nothing for the members, who are not told.
                period.revocation = mine.revocation
                period.revocationDate = mine.revocationDate
                period.revocationPercent = mine.revocationPercent
                period.revocationReason = mine.revocationReason
                period.modifiedDate = mine.modifiedDate
            }
            period.modifiedDate = max(mine.modifiedDate, period.modifiedDate)
            period.isRenewal = mine.isRenewal
            period.isFinished = mine.isFinished
            chains[member].transactions[place] = period
        }
        chains[member].renewal = chains[leader].renewal
        chains[member].phase = chains[leader].phase
        chains[member].streakStart = max(
            chains[member].transactions.first?.purchaseDate ?? chains[leader].streakStart,
            chains[leader].streakStart)
    }
}
