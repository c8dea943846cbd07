import Subscriptions

/// A step waiting for its moment.
struct PendingStep: Sendable {
    let date: Timestamp
    let customer: String
    let step: ScriptedStep
}

/// Named customers and their purchases, by label.
struct ScriptedNames: Sendable {
    struct Purchase: Sendable {
        let label: String
        let chain: Int
    }

    var accounts: [String: Int] = [:]
    /// In the order of purchase.
    var purchases: [String: [Purchase]] = [:]

    /// The purchase that a step concerns: the one with the label, else the latest.
    func chain(of customer: String, label: String?) throws(SimulatorError) -> Int {
        let mine = purchases[customer] ?? []
        let found = label.map { label in mine.last { $0.label == label } } ?? mine.last
        guard let found else {
            throw .badOption(
                "The customer \"\(customer)\" has not bought "
                    + (label.map { "anything labelled \"\($0)\"" } ?? "anything") + " by then.")
        }
        return found.chain
    }
}

extension World {
    /// Adds a scenario's customers of this environment; what lies in the past happens at once.
    mutating func play(_ scenario: Scenario) throws(SimulatorError) {
        let known = notifications.count
        for customer in scenario.customers where customer.environment == environment {
            guard scripted.accounts[customer.name] == nil else {
                throw .badOption("There are two customers named \"\(customer.name)\".")
            }
            scripted.accounts[customer.name] = addAccount(
                storefront: customer.storefront, hasToken: customer.hasToken)
            pendingSteps += customer.life.map {
                PendingStep(
                    date: $0.moment.timestamp(now: now), customer: customer.name, step: $0)
            }
        }
        pendingSteps = pendingSteps.enumerated().sorted {
            ($0.element.date, $0.offset) < ($1.element.date, $1.offset)
        }.map(\.element)
        try takeSteps(until: now)
        for index in chains.indices where chains[index].isScripted {
            live(chain: index, until: now)
        }
        sortNotifications(from: known)
        refreshNextDue()
    }

    /// Takes the scripted steps that are due until `moment`, in their order.
    mutating func takeSteps(until moment: Timestamp) throws(SimulatorError) {
        while let pending = pendingSteps.first, pending.date <= moment {
            pendingSteps.removeFirst()
            let known = notifications.count
            try take(pending)
            guard let delivery = pending.step.delivery else { continue }
            if delivery == "unsent" {
                // Apple's own failure: no attempt, and nothing in the history.
                let made = notifications[known...].filter { $0.date < pending.date }
                notifications.replaceSubrange(known..., with: made)
                continue
            }
            for index in known..<notifications.count where notifications[index].date >= pending.date
            {
                notifications[index].delivery =
                    switch delivery {
                    case "late": NotificationRecord.Delivery(failedAttempts: 2)
                    case "never": .never
                    default: .atOnce
                    }
            }
        }
    }

    private mutating func take(_ pending: PendingStep) throws(SimulatorError) {
        let (name, date) = (pending.customer, pending.date)
        guard let account = scripted.accounts[name] else { return }
        switch pending.step.action {
        case .buy(let product, let offer, let label):
            buy(product, offer: offer, label: label, customer: name, account: account, at: date)
        case .deleteAccount: accounts[account].isDeleted = true
        default:
            let chain = try scripted.chain(of: name, label: pending.step.purchase)
            live(chain: chain, until: date)
            try act(pending.step.action, chain: chain, customer: name, at: date)
            mirror(chain: chain)
        }
    }

    private mutating func buy(
        _ product: UInt16, offer: UInt8, label: String?, customer: String, account: Int,
        at date: Timestamp
    ) {
        let chain: Int
        if Catalogue.products[Int(product)].kind == .autoRenewable {
            chain = subscribe(
                account: account, product: product, offer: offer, at: date,
                random: SeededRandom(seed: seed, stream: UInt64(chains.count)))
            chains[chain].isScripted = true
            link(chain: chain)
            planEnd(chain: chain)
        } else {
            chain = buyOnce(account: account, product: product, at: date)
        }
        name(chain: chain, label: label, customer: customer)
    }

    private mutating func name(chain: Int, label: String?, customer: String) {
        let count = scripted.purchases[customer]?.count ?? 0
        scripted.purchases[customer, default: []].append(
            ScriptedNames.Purchase(label: label ?? "purchase \(count + 1)", chain: chain))
    }

    private mutating func act(
        _ action: ScriptedAction, chain: Int, customer: String, at date: Timestamp
    ) throws(SimulatorError) {
        switch action {
        case .buy, .deleteAccount: break
        case .cancel: setRenewal(chain: chain, on: false, at: date)
        case .reenable: setRenewal(chain: chain, on: true, at: date)
        case .upgrade(let product, let offer):
            upgrade(chain: chain, to: product, offer: offer, at: date)
        case .changeAtRenewal(let product):
            changeNextProduct(chain: chain, to: product, at: date)
        case .billingFails: chains[chain].paymentFails = true
        case .billingRecovers:
            chains[chain].paymentFails = false
            recover(chain: chain, at: date)
        case .refund(let percent, let reason, let earlier):
            let last = chains[chain].transactions.count - 1
            refund(
                chain: chain, period: earlier ?? last, percent: percent, reason: reason, at: date)
        case .refundReversed: reverseRefund(chain: chain, at: date)
        case .refundDeclined:
            notify(.consumptionRequest, chain: chain, at: date)
            notify(.refundDeclined, chain: chain, at: date.adding(milliseconds: 60_000))
        case .resubscribe(let product, let offer):
            resubscribe(chain: chain, product: product, offer: offer, at: date)
        case .priceIncrease(let percent, let needsConsent):
            increasePrice(chain: chain, percent: percent, needsConsent: needsConsent, at: date)
        case .acceptPriceIncrease: acceptPriceIncrease(chain: chain, at: date)
        case .extend(let days): extendRenewal(chain: chain, days: days, at: date)
        case .redeemOffer(let offer):
            chains[chain].renewal.nextOffer = offer
            notify(.offerRedeemed, chain: chain, at: date)
        case .withdraw:
            chains[chain].renewal.willRenew = false
            chains[chain].renewal.expirationIntent = 4
            planEnd(chain: chain)
        case .share(let member): try share(chain: chain, withCustomer: member)
        case .stopSharing: endSharing(leader: chain, at: date)
        case .migrate(let label):
            name(chain: migrate(chain: chain, at: date), label: label, customer: customer)
        }
    }

    private mutating func share(
        chain: Int, withCustomer member: String
    ) throws(SimulatorError) {
        guard let account = scripted.accounts[member] else {
            throw .badOption("There is no customer named \"\(member)\" to share with.")
        }
        let shared = share(chain: chain, with: account)
        link(chain: shared)
        name(chain: shared, label: "shared", customer: member)
    }

    /// The subscription goes on under a new original id, which names the old one.
    private mutating func migrate(chain old: Int, at date: Timestamp) -> Int {
        let index = chains.count
        var chain = chains[old]
        chain.predecessor = Int32(old)
        chain.nextOfAccount = -1
        chain.firstFollower = -1
        chain.transactions = chains[old].transactions.suffix(1).map { last in
            var last = last
            last.modifiedDate = date
            return last
        }
        chains.append(chain)
        chains[old].isReplaced = true
        chains[old].event = .none
        chains[old].eventDate = PurchaseChain.never
        link(chain: index)
        return index
    }
}
