import Subscriptions

/// A step that is not due yet.
struct PendingStep: Sendable {
    let date: Timestamp
    let task: Task
    /// How its notifications are delivered; `nil` as usual.
    var delivery: ScriptedDelivery?

    enum Task: Sendable {
        case step(customer: String, ScriptedStep)
        /// Apple declines a refund that was asked for.
        case declineRefund(chain: Int)
        /// A mass extension is carried out.
        case massExtension(index: Int)
    }
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

    /// The purchase that a step concerns: the one with the label, otherwise the latest.
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
    /// Adds the scripted customers of this environment and performs their steps of the past.
    mutating func play(_ customers: [ScriptedCustomer]) throws(SimulatorError) {
        let known = notifications.count
        for customer in customers where customer.environment == environment {
            guard scripted.accounts[customer.name] == nil else {
                throw .badOption("There are two customers named \"\(customer.name)\".")
            }
            scripted.accounts[customer.name] = addAccount(
                storefront: customer.storefront, hasToken: customer.hasToken)
            for step in customer.life {
                enqueue(
                    PendingStep(
                        date: step.moment.timestamp(now: now),
                        task: .step(customer: customer.name, step), delivery: step.delivery))
            }
        }
        try performSteps(until: now)
        for index in chains.indices where chains[index].isScripted {
            runEvents(chain: index, until: now)
        }
        sortNotifications(from: known)
        refreshNextDue()
    }

    /// Adds a step to the pending ones, behind those with the same or an earlier date.
    mutating func enqueue(_ step: PendingStep) {
        let place = pendingSteps.firstIndex { $0.date > step.date } ?? pendingSteps.endIndex
        pendingSteps.insert(step, at: place)
    }

    /// Performs the steps that are due by `moment`, in their order.
    mutating func performSteps(until moment: Timestamp) throws(SimulatorError) {
        while let pending = pendingSteps.first, pending.date <= moment {
            pendingSteps.removeFirst()
            try perform(pending)
        }
    }

    private mutating func perform(_ pending: PendingStep) throws(SimulatorError) {
        switch pending.task {
        case .declineRefund(let chain):
            try delivering(pending.delivery) { world throws(SimulatorError) in
                world.notify(.refundDeclined, chain: chain, at: pending.date)
            }
        case .massExtension(let index): carryOutMassExtension(index: index, at: pending.date)
        case .step(let customer, let step):
            do throws(SimulatorError) {
                try perform(step, of: customer, at: pending.date)
            } catch {
                throw step.refusal(error, customer: customer)
            }
        }
    }

    /// Performs one step of a customer; every earlier one was performed before.
    mutating func perform(
        _ step: ScriptedStep, of customer: String, at date: Timestamp
    ) throws(SimulatorError) {
        guard let account = scripted.accounts[customer] else {
            throw .badOption("There is no customer named \"\(customer)\".")
        }
        guard !accounts[account].isDeleted else {
            throw .badOption("The account of \"\(customer)\" is deleted by then.")
        }
        switch step.action {
        case .buy(let product, let offer, let label, let seats):
            try delivering(step.delivery) { world throws(SimulatorError) in
                let chain = try world.buy(
                    product, offer: offer, seats: seats, account: account, at: date)
                world.name(chain: chain, label: label, customer: customer)
            }
        case .deleteAccount:
            for index in chains(ofAccount: account) {
                runEvents(
                    chain: chains[index].leader >= 0 ? Int(chains[index].leader) : index,
                    until: date)
            }
            delete(account: account, at: date)
        case .externalPurchaseToken(let event):
            let created = event == .externalPurchaseTokenCreated ? nil : latestToken(of: account)
            try delivering(step.delivery) { world throws(SimulatorError) in
                world.record(
                    event, about: .externalPurchase(account: account, created: created ?? date),
                    at: date)
            }
        case .rescindConsent:
            let bought = chains(ofAccount: account).compactMap {
                chains[$0].transactions.first?.purchaseDate
            }.min()
            try delivering(step.delivery) { world throws(SimulatorError) in
                world.record(
                    .rescindConsent,
                    about: .appTransaction(account: account, bought: bought ?? date), at: date)
            }
        default:
            let chain = try scripted.chain(of: customer, label: step.purchase)
            try perform(
                step.action, chain: chain, customer: customer, delivery: step.delivery, at: date)
        }
    }

    /// Runs the chain's events until the date, then performs the action.
    private mutating func perform(
        _ action: ScriptedAction, chain: Int, customer: String, delivery: ScriptedDelivery?,
        at date: Timestamp
    ) throws(SimulatorError) {
        runEvents(chain: chains[chain].leader >= 0 ? Int(chains[chain].leader) : chain, until: date)
        try delivering(delivery) { world throws(SimulatorError) in
            let created = try world.perform(action, chain: chain, delivery: delivery, at: date)
            world.mirror(chain: chain)
            if let created {
                world.name(
                    chain: created.chain, label: created.label,
                    customer: created.customer ?? customer)
            }
        }
    }

    /// Runs `body` and applies the delivery to the notifications that it created.
    private mutating func delivering(
        _ delivery: ScriptedDelivery?,
        _ body: (inout World) throws(SimulatorError) -> Void
    ) throws(SimulatorError) {
        let known = notifications.count
        try body(&self)
        guard let delivery else { return }
        guard let plan = delivery.plan else {
            // A failure at Apple: neither an attempt nor an entry in the history.
            notifications.removeSubrange(known...)
            return
        }
        for index in known..<notifications.count { notifications[index].delivery = plan }
    }

    private mutating func buy(
        _ product: UInt16, offer: UInt8, seats: ScriptedAction.BoughtSeats?, account: Int,
        at date: Timestamp
    ) throws(SimulatorError) -> Int {
        guard catalogue.products[Int(product)].kind == .autoRenewable else {
            guard offer == 0 else {
                throw .badOption("An offer is for subscriptions only.")
            }
            guard seats == nil else {
                throw .badOption("Seats are of subscriptions only.")
            }
            return buyOnce(account: account, product: product, at: date)
        }
        let chain = subscribe(
            account: account, product: product, offer: offer, at: date,
            random: SeededRandom(seed: seed, stream: UInt64(chains.count)))
        chains[chain].isScripted = true
        if let seats {
            beginGroup(
                chain: chain, seats: seats.count, invitations: seats.invitations, at: date)
        }
        link(chain: chain)
        planEnd(chain: chain, from: date)
        return chain
    }

    /// When the account's latest external purchase token was created; `nil` if none is known.
    private func latestToken(of account: Int) -> Timestamp? {
        for record in notifications.reversed() {
            if case .externalPurchase(account, let created) = subjects[record.key] {
                return created
            }
        }
        return nil
    }

    private mutating func name(chain: Int, label: String?, customer: String) {
        let count = scripted.purchases[customer]?.count ?? 0
        scripted.purchases[customer, default: []].append(
            ScriptedNames.Purchase(label: label ?? "purchase \(count + 1)", chain: chain))
    }
}
