import Subscriptions

/// A purchase that a step created and that later steps can name.
struct NamedPurchase {
    let chain: Int
    let label: String?
    /// Its owner, if that is another customer.
    var customer: String?
}

/// The actions of scenarios, each with its preconditions. A step that cannot happen is refused with a
/// reason: a test that relies on a step without effect would prove nothing.
extension World {
    mutating func perform(
        _ action: ScriptedAction, chain: Int, delivery: ScriptedDelivery?, at date: Timestamp
    ) throws(SimulatorError) -> NamedPurchase? {
        try requireOwnPurchase(chain, for: action)
        switch action {
        case .buy, .deleteAccount, .externalPurchaseToken, .rescindConsent: break
        case .cancel: try cancel(chain: chain, at: date)
        case .reenable: try reenable(chain: chain, at: date)
        case .upgrade(let product, let offer):
            try require(chain, in: [.active], for: "An upgrade")
            try requireHigher(product, than: chain)
            guard groups[chain] == nil else {
                throw .badOption("A subscription for a group is not upgraded here.")
            }
            upgrade(chain: chain, to: product, offer: offer, at: date)
        case .downgrade(let product): try downgrade(chain: chain, to: product, at: date)
        case .crossgrade(let product): try crossgrade(chain: chain, to: product, at: date)
        case .billingFails:
            try require(chain, in: [.active, .grace, .billingRetry], for: "A failing charge")
            chains[chain].paymentFails = true
        case .billingRecovers: try recoverBilling(chain: chain, at: date)
        case .refund(let percent, let reason, let period):
            try refund(chain: chain, period: period, percent: percent, reason: reason, at: date)
        case .refundReversed(let period): try reverse(chain: chain, period: period, at: date)
        case .refundDeclined:
            notify(.consumptionRequest, chain: chain, at: date)
            enqueue(
                PendingStep(
                    date: date.adding(milliseconds: 60_000), task: .declineRefund(chain: chain),
                    delivery: delivery))
        case .resubscribe(let product, let offer):
            try require(chain, in: [.expired, .revoked], for: "A resubscription")
            try requireSameGroup(product, as: chain)
            resubscribe(chain: chain, product: product, offer: offer, at: date)
        case .priceIncrease(let percent, let needsConsent):
            try require(chain, in: [.active], for: "A price increase")
            guard chains[chain].renewal.priceIncrease != .pending else {
                throw .badOption("A price increase is pending already.")
            }
            increasePrice(chain: chain, percent: percent, needsConsent: needsConsent, at: date)
        case .acceptPriceIncrease:
            guard chains[chain].renewal.priceIncrease == .pending else {
                throw .badOption("No price increase is pending.")
            }
            acceptPriceIncrease(chain: chain, at: date)
        case .extend(let days):
            try require(chain, in: [.active], for: "An extension")
            if let refusal = extensionRefusal(chain: chain, at: date) {
                throw .badOption("An extension is refused here as by the API: \(refusal.message)")
            }
            extendRenewal(chain: chain, days: days, at: date)
        case .redeemOffer(let offer):
            try require(chain, in: [.active], for: "An offer for the next renewal")
            chains[chain].renewal.nextOffer = offer
            notify(.offerRedeemed, chain: chain, at: date)
        case .withdraw:
            try require(chain, in: [.active], for: "A withdrawal from sale")
            chains[chain].renewal.willRenew = false
            chains[chain].renewal.expirationIntent = 4
            planEnd(chain: chain, from: date)
        case .finish:
            let last = chains[chain].transactions.count - 1
            guard last >= 0, !chains[chain].transactions[last].isFinished else {
                throw .badOption("The transaction is finished already.")
            }
            chains[chain].transactions[last].isFinished = true
        case .share(let member): return try share(chain: chain, withCustomer: member, at: date)
        case .stopSharing: try stopSharing(chain: chain, at: date)
        case .migrate(let label):
            try require(chain, in: [.active, .grace, .billingRetry], for: "A migration")
            guard groups[chain] == nil else {
                throw .badOption("A subscription for a group does not migrate here.")
            }
            return NamedPurchase(chain: migrate(chain: chain, at: date), label: label)
        case .addSeats, .removeSeats, .refundSeats, .claimSeats, .releaseSeats:
            try changeSeats(action, chain: chain, at: date)
        }
        return nil
    }

    private mutating func changeSeats(
        _ action: ScriptedAction, chain: Int, at date: Timestamp
    ) throws(SimulatorError) {
        guard let group = groups[chain] else {
            throw .badOption("The purchase has no seats: buy it with \"seats\".")
        }
        let last = chains[chain].transactions.count - 1
        switch action {
        case .addSeats(let seats):
            try require(chain, in: [.active], for: "An addition of seats")
            addSeats(chain: chain, seats, at: date)
        case .removeSeats(let seats):
            try require(chain, in: [.active], for: "A removal of seats")
            let left = group.renewalSeats(at: date) - seats
            guard left >= 1 else {
                throw .badOption("The renewal would have \(left) seats.")
            }
            removeSeats(chain: chain, seats, at: date)
        case .refundSeats(let seats, let period):
            let period = period ?? last
            guard (0...last).contains(period) else {
                throw .badOption(
                    "The period has no purchase \(period): name one from 0 to \(last).")
            }
            let left = group.seats(of: period) - group.revoked(of: period, at: date)
            guard seats <= left else {
                throw .badOption("The transaction has \(left) seats left to refund.")
            }
            if seats == left {
                refund(chain: chain, period: period, percent: 100, reason: 0, at: date)
            } else {
                refundSeats(chain: chain, transaction: period, seats, at: date)
            }
        case .claimSeats(let seats):
            guard group.invitations == .developer else {
                throw .badOption("Apple invites the members of this group.")
            }
            let free = group.seatsLeft(besides: last, at: date) - group.claims.count
            guard seats <= free else { throw .badOption("There are \(free) free seats.") }
            groups[chain]?.claim(seats)
        case .releaseSeats(let seats):
            guard seats <= group.claims.count else {
                throw .badOption("There are \(group.claims.count) claimed seats.")
            }
            releaseSeats(chain: chain, seats, at: date)
        default: break
        }
    }

    private mutating func cancel(chain: Int, at date: Timestamp) throws(SimulatorError) {
        try require(chain, in: [.active, .grace, .billingRetry], for: "A cancellation")
        guard chains[chain].renewal.willRenew else {
            throw .badOption("Auto-renewal is off already.")
        }
        setRenewal(chain: chain, on: false, at: date)
    }

    private mutating func reenable(chain: Int, at date: Timestamp) throws(SimulatorError) {
        try require(
            chain, in: [.active, .grace, .billingRetry], for: "Turning auto-renewal on again")
        guard !chains[chain].renewal.willRenew else {
            throw .badOption("Auto-renewal is on already.")
        }
        setRenewal(chain: chain, on: true, at: date)
    }

    private mutating func downgrade(
        chain: Int, to product: UInt16, at date: Timestamp
    ) throws(SimulatorError) {
        try require(chain, in: [.active, .grace], for: "A downgrade")
        try requireSameGroup(product, as: chain)
        let (mine, other) = levels(of: chain, and: product)
        // Choosing the current product cancels an earlier downgrade.
        guard other > mine || product == chains[chain].current?.product else {
            throw .badOption(
                "\"\(catalogue.products[Int(product)].id)\" is not at a lower level of service.")
        }
        changeNextProduct(chain: chain, to: product, at: date)
    }

    private mutating func crossgrade(
        chain: Int, to product: UInt16, at date: Timestamp
    ) throws(SimulatorError) {
        try require(chain, in: [.active], for: "A crossgrade")
        try requireSameGroup(product, as: chain)
        let (mine, other) = levels(of: chain, and: product)
        guard other == mine, let current = chains[chain].current, current.product != product else {
            throw .badOption(
                "\"\(catalogue.products[Int(product)].id)\" is not another product of the same level."
            )
        }
        if catalogue.products[Int(product)].period
            == catalogue.products[Int(current.product)].period
        {
            upgrade(chain: chain, to: product, offer: 0, at: date)
        } else {
            changeNextProduct(chain: chain, to: product, at: date)
        }
    }

    private mutating func recoverBilling(
        chain: Int, at date: Timestamp
    ) throws(SimulatorError) {
        guard chains[chain].paymentFails || [.grace, .billingRetry].contains(chains[chain].phase)
        else { throw .badOption("No charge fails, so none can recover.") }
        try require(chain, in: [.active, .grace, .billingRetry], for: "A recovery")
        chains[chain].paymentFails = false
        recover(chain: chain, at: date)
    }

    private mutating func refund(
        chain: Int, period: Int?, percent: UInt8, reason: UInt8, at date: Timestamp
    ) throws(SimulatorError) {
        let count = chains[chain].transactions.count
        let period = period ?? count - 1
        guard (0..<count).contains(period) else {
            throw .badOption("There is no period \(period) to refund; there are 0 to \(count - 1).")
        }
        refund(chain: chain, period: period, percent: percent, reason: reason, at: date)
    }

    private mutating func reverse(
        chain: Int, period: Int?, at date: Timestamp
    ) throws(SimulatorError) {
        guard let period = period ?? refundedPeriod(chain: chain),
            chains[chain].transactions.indices.contains(period),
            [.refundFull, .refundProrated].contains(
                chains[chain].transactions[period].revocation)
        else { throw .badOption("Nothing is refunded that could be given back.") }
        reverseRefund(chain: chain, period: period, at: date)
    }

    private mutating func share(
        chain: Int, withCustomer member: String, at date: Timestamp
    ) throws(SimulatorError) -> NamedPurchase {
        guard let account = scripted.accounts[member] else {
            throw .badOption("There is no customer named \"\(member)\" to share with.")
        }
        try require(chain, in: [.active, .grace], for: "Sharing")
        guard account != Int(chains[chain].account) else {
            throw .badOption("Nobody shares with themselves.")
        }
        guard !accounts[account].isDeleted else {
            throw .badOption("The account of \"\(member)\" is deleted by then.")
        }
        let sharesAlready = chains(ofAccount: account).contains {
            Int(chains[$0].leader) == chain
        }
        guard !sharesAlready else {
            throw .badOption("It is shared with \"\(member)\" already.")
        }
        let shared = share(chain: chain, with: account, at: date)
        link(chain: shared)
        return NamedPurchase(chain: shared, label: "shared", customer: member)
    }

    private mutating func stopSharing(chain: Int, at date: Timestamp) throws(SimulatorError) {
        if chains[chain].leader >= 0 { return leaveFamily(member: chain, at: date) }
        guard chains[chain].firstFollower >= 0 else {
            throw .badOption("It is shared with nobody.")
        }
        endSharing(leader: chain, at: date)
    }

    /// Continues the subscription under a new original id; its transactions name the old one.
    private mutating func migrate(chain old: Int, at date: Timestamp) -> Int {
        let index = chains.count
        let periods = chains[old].transactions.count
        var chain = chains[old]
        chain.predecessor = Int32(old)
        chain.nextOfAccount = -1
        chain.transactions = chains[old].transactions.suffix(1).map { last in
            var last = last
            last.modifiedDate = date
            return last
        }
        chains.append(chain)
        var follower = Int(chain.firstFollower)
        while follower >= 0 {
            chains[follower].leader = Int32(index)
            chains[follower].sharedFrom -= Int32(periods - 1)
            follower = Int(chains[follower].nextFollower)
        }
        chains[old].firstFollower = -1
        chains[old].isReplaced = true
        appAccountTokens[index] = appAccountTokens[old]
        schedule(.none, at: PurchaseChain.never, chain: old)
        link(chain: index)
        return index
    }
}
