import Subscriptions

/// What control calls let happen while the world runs: new customers, and steps at once.
extension World {
    /// Adds a customer and performs the steps of its life that are due.
    ///
    /// The whole life is first tried out in a world of its own, so a step that cannot happen changes
    /// nothing here, even if it lies in the future.
    mutating func add(_ customer: ScriptedCustomer) throws(SimulatorError) {
        guard scripted.accounts[customer.name] == nil else {
            throw .badOption("There is a customer named \"\(customer.name)\" already.")
        }
        var trial = emptyCopy()
        for (name, account) in scripted.accounts {
            let twin = trial.addAccount(storefront: 0, hasToken: true)
            trial.accounts[twin].isDeleted = accounts[account].isDeleted
            trial.scripted.accounts[name] = twin
        }
        try trial.play([customer])
        while let last = trial.pendingSteps.last {
            trial.advance(to: last.date)
            if let reason = trial.skippedSteps.first { throw .badOption(reason) }
        }
        try play([customer])
    }

    /// Performs a step of an account now; `chain`: the purchase that it concerns, `nil` for the one
    /// that the call names or the latest one.
    ///
    /// A step that cannot happen changes nothing.
    mutating func perform(_ call: StepCall, account: Int, chain: Int?) throws(SimulatorError) {
        let before = (scripted, pendingSteps)
        let name = scriptedName(of: account)
        let known = notifications.count
        var replaced: (index: Int, chain: PurchaseChain)?
        do throws(SimulatorError) {
            guard !accounts[account].isDeleted else {
                throw .badOption("The account of \"\(name)\" is deleted.")
            }
            var label = call.purchase
            if call.action.concernsPurchase {
                let concerned =
                    if let chain { chain } else { try scripted.chain(of: name, label: label) }
                label = scripted.purchases[name]?.last { $0.chain == concerned }?.label
                replaced = (concerned, chains[concerned])
                adoptEntries(chain: concerned)
            }
            try perform(
                ScriptedStep(
                    moment: .absolute(now), purchase: label, action: call.action,
                    delivery: call.delivery), of: name, at: now)
        } catch {
            (scripted, pendingSteps) = before
            if let (index, chain) = replaced { chains[index] = chain }
            throw error
        }
        sortNotifications(from: known)
        refreshNextDue()
    }

    /// The name of an account in scripted steps.
    ///
    /// An account of the population gets its `appTransactionId` as name, and its purchases their
    /// original transaction ids as labels.
    private mutating func scriptedName(of account: Int) -> String {
        if let known = scripted.name(of: account) { return known }
        let name = String(identifiers.appTransactionID(account: account))
        scripted.accounts[name] = account
        scripted.purchases[name] = chains(ofAccount: account).map {
            ScriptedNames.Purchase(label: originalTransactionID(chain: $0), chain: $0)
        }
        return name
    }

    /// From now on nothing about the purchase is decided by chance, so that a step has its effect.
    private mutating func adoptEntries(chain index: Int) {
        guard !chains[index].isScripted, !chains[index].isFamilyShared else { return }
        chains[index].isScripted = true
        chains[index].paymentFails = chains[index].event == .billingFailure
        switch chains[index].event {
        case .refundAnswer:
            enqueue(
                PendingStep(
                    date: chains[index].eventDate, task: .declineRefund(chain: index)))
            planEnd(chain: index, from: now)
        case .midPeriod, .reenabling, .priceConsent: planEnd(chain: index, from: now)
        case .recovery where chains[index].phase == .grace:
            schedule(
                .graceEnd, at: chains[index].renewal.gracePeriodExpiresDate ?? now, chain: index)
        case .recovery: schedule(.retryEnd, at: retryEnd(chain: index) ?? now, chain: index)
        case .resubscription, .refundReversal:
            schedule(.none, at: PurchaseChain.never, chain: index)
        case .none, .renewal, .billingFailure, .graceEnd, .retryEnd, .expiry: break
        }
    }

    /// An account by a customer's name or any of its ids; `chain`: the purchase of a transaction id.
    func customer(named text: String) -> (account: Int, chain: Int?)? {
        if let account = scripted.accounts[text] { return (account, nil) }
        switch resolve(text) {
        case .malformed, .unknown: return nil
        case .transaction(let chain, _): return (Int(chains[chain].account), chain)
        case .appTransaction(let account): return (account, nil)
        }
    }
}

extension ScriptedNames {
    /// The name of an account; `nil` for one that has none.
    func name(of account: Int) -> String? {
        accounts.first { $0.value == account }?.key
    }
}
