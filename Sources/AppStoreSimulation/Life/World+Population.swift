import Subscriptions

/// Creates a random population, whose subscriptions are simulated event by event until now.
extension World {
    /// No event is due for this long after the start, so that a table written at the start stays
    /// exact while a test runs.
    static let quietMilliseconds: Int64 = 6 * CivilCalendar.millisecondsPerHour
    private static let oldestStartDays: Int64 = 540

    /// Adds this many customers; accounts of family members are added to that.
    mutating func populate(customers count: Int) {
        chains.reserveCapacity(chains.count + count * 7 / 4)
        accounts.reserveCapacity(accounts.count + count * 11 / 10)
        let known = notifications.count
        for number in 0..<count {
            addCustomer(number: number)
        }
        sortNotifications(from: known)
        refreshNextDue()
    }

    private mutating func addCustomer(number: Int) {
        var random = SeededRandom(seed: seed, stream: UInt64(number))
        let account = addAccount(
            storefront: UInt8(random.integer(in: 0...Int64(catalogue.storefronts.count - 1))),
            hasToken: random.chance(0.85))
        let draw = random.fraction()
        let count = draw < 0.7 ? 1 : draw < 0.92 ? 2 : 3
        let groups = catalogue.groups.count
        let first = groups > 0 ? Int(random.integer(in: 0...Int64(groups - 1))) : 0
        for place in 0..<min(count, groups) {
            addSubscription(account: account, group: (first + place) % groups)
        }
        let products = catalogue.oneTimeProducts
        if random.chance(rates.oneTimePurchase), !products.isEmpty {
            let product = products[Int(random.integer(in: 0...Int64(products.count - 1)))]
            let days = random.integer(in: 1...Self.oldestStartDays)
            let age = pace.scaled(days * CivilCalendar.millisecondsPerDay) - 4321
            let chain = buyOnce(
                account: account, product: product, at: now.adding(milliseconds: -age))
            if random.chance(rates.oneTimeRefund) {
                refund(
                    chain: chain, period: 0, percent: random.chance(0.7) ? 100 : 40,
                    reason: random.chance(0.3) ? 1 : 0, at: now.adding(milliseconds: -age / 2))
            }
        }
    }

    mutating func addAccount(storefront: UInt8, hasToken: Bool) -> Int {
        accounts.append(AppleAccount(storefront: storefront, hasToken: hasToken))
        return accounts.count - 1
    }

    /// Adds one subscription; tries again with other random numbers until it has no event soon.
    private mutating func addSubscription(account: Int, group: Int) {
        let chainCount = chains.count
        let accountCount = accounts.count
        let notificationCount = notifications.count
        let maximumAttempts = 60
        for attempt in 0..<maximumAttempts {
            var random = SeededRandom(
                seed: seed, stream: (UInt64(chainCount) << 8 | UInt64(attempt)) &+ 0x5EED << 40)
            trySubscription(account: account, group: group, random: &random)
            if chains[chainCount...].allSatisfy(isQuiet) || attempt == maximumAttempts - 1 { break }
            chains.removeLast(chains.count - chainCount)
            accounts.removeLast(accounts.count - accountCount)
            groups = groups.filter { $0.key < chainCount }
            notifications.removeLast(notifications.count - notificationCount)
        }
        for index in chainCount..<chains.count {
            link(chain: index)
            chains[index].dropSpareCapacity()
        }
    }

    private mutating func trySubscription(account: Int, group: Int, random: inout SeededRandom) {
        let products = catalogue.products.indices.filter { catalogue.products[$0].group == group }
        let product = UInt16(products[Int(random.integer(in: 0...Int64(products.count - 1)))])
        let age = random.integer(
            in: 60_000...pace.scaled(Self.oldestStartDays * CivilCalendar.millisecondsPerDay))
        let start = now.adding(milliseconds: -age)
        let offers = catalogue.offers(ofType: .introductory)
        let offer: UInt8 =
            random.chance(rates.introductoryOffer) && !offers.isEmpty
            ? offers[Int(random.integer(in: 0...Int64(offers.count - 1)))] : 0
        let isShared = random.chance(rates.familySharing)
        // Not drawn where there are none, so that a seed goes on to make the same world.
        let seats =
            rates.groupPurchase > 0 && random.chance(rates.groupPurchase)
            ? Int(random.integer(in: 2...9)) : nil
        let index = subscribe(
            account: account, product: product, offer: offer, seats: seats, at: start,
            random: random)
        if isShared, seats == nil {
            let member = addAccount(storefront: accounts[account].storefront, hasToken: false)
            share(chain: index, with: member, at: start)
        }
        planPeriod(chain: index)
        runEvents(chain: index, until: now)
    }

    /// Adds a first purchase: a new chain with its first period.
    ///
    /// `seats`: of a group, whose members Apple invites; `nil` for an ordinary subscription.
    mutating func subscribe(
        account: Int, product: UInt16, offer: UInt8, seats: Int? = nil, at start: Timestamp,
        random: SeededRandom
    ) -> Int {
        let index = chains.count
        chains.append(
            PurchaseChain(
                account: Int32(account), phase: .active, product: product, start: start,
                random: random))
        chains[index].renewal.nextOffer = offer
        // Most have several periods; a population's spare room is freed when its past has been simulated.
        chains[index].transactions.reserveCapacity(8)
        beginPeriod(chain: index, at: start, isRenewal: false)
        if let seats { beginGroup(chain: index, seats: seats, invitations: .apple, at: start) }
        notify(.subscribedInitialBuy, chain: index, at: start)
        return index
    }

    /// Adds a purchase of a consumable, non-consumable or non-renewing product.
    @discardableResult
    mutating func buyOnce(account: Int, product: UInt16, at moment: Timestamp) -> Int {
        let index = chains.count
        var chain = PurchaseChain(
            account: Int32(account), phase: .single, product: product, start: moment,
            random: SeededRandom(seed: seed, stream: UInt64(index)))
        chain.append(
            StoredTransaction(
                purchaseDate: moment,
                expiresDate: pace.end(
                    of: catalogue.products[Int(product)].period, after: moment),
                modifiedDate: moment, product: product, isRenewal: false, offer: 0))
        chains.append(chain)
        link(chain: index)
        notify(.oneTimeCharge, chain: index, at: moment)
        return index
    }

    /// Appends a chain to the account's list of chains.
    mutating func link(chain index: Int) {
        let account = Int(chains[index].account)
        guard accounts[account].firstChain >= 0 else {
            accounts[account].firstChain = Int32(index)
            return
        }
        var last = Int(accounts[account].firstChain)
        while chains[last].nextOfAccount >= 0 { last = Int(chains[last].nextOfAccount) }
        chains[last].nextOfAccount = Int32(index)
    }

    private func isQuiet(_ chain: PurchaseChain) -> Bool {
        let end = now.adding(milliseconds: pace.scaled(Self.quietMilliseconds))
        let isWithin = { (date: Timestamp) in date > now && date <= end }
        guard let current = chain.current else { return true }
        return !isWithin(chain.eventDate) && !isWithin(current.expiresDate)
            && !(chain.renewal.gracePeriodExpiresDate.map(isWithin) ?? false)
    }
}
