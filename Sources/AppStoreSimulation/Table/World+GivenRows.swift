import Subscriptions

/// Subscriptions that agree with the rows of a company's own table.
extension World {
    /// Adds the subscriptions of these rows to a world without purchases.
    ///
    /// What a row leaves open is chosen here. A subscription whose dates have passed continues: it
    /// renews, or it expires.
    mutating func add(_ rows: [GivenRow]) throws(SimulatorError) {
        var faults = LineFaults()
        var accountOf: [String: Int] = [:]
        chains.reserveCapacity(rows.count)
        for row in rows {
            do throws(LineFault) {
                let dates = try GivenDates(row, world: self)
                let account =
                    row.customerID.flatMap { accountOf[$0] }
                    ?? addAccount(storefront: 0, hasToken: false)
                if let customer = row.customerID {
                    accountOf[customer] = account
                    customerNames[account] = customer
                }
                let index = add(row, dates, account: account)
                if chains[index].eventDate <= now { rowsGoneOn += 1 }
                runEvents(chain: index, until: now)
            } catch {
                faults.append(error)
            }
        }
        guard faults.isEmpty else { throw GivenTable.problem(faults.sentence) }
        sortNotifications(from: 0)
        refreshNextDue()
    }

    private mutating func add(_ row: GivenRow, _ dates: GivenDates, account: Int) -> Int {
        let index = chains.count
        let product = catalogue.product(of: row)
        var chain = PurchaseChain(
            account: Int32(account), phase: dates.phase, product: product,
            start: dates.firstPurchase, random: SeededRandom(seed: seed, stream: UInt64(index)))
        chain.isScripted = true
        chain.isFamilyShared = row.isFamilyShared
        if let second = dates.secondPurchase {
            chain.append(
                StoredTransaction(
                    purchaseDate: dates.firstPurchase, expiresDate: second,
                    modifiedDate: dates.firstPurchase, product: product, isRenewal: false, offer: 0)
            )
        }
        let begin = dates.secondPurchase ?? dates.firstPurchase
        var current = StoredTransaction(
            purchaseDate: begin, expiresDate: dates.expires, modifiedDate: begin, product: product,
            isRenewal: dates.secondPurchase != nil, offer: 0)
        if let revoked = dates.revoked {
            current.revocationDate = revoked
            current.modifiedDate = revoked
            current.revocation = row.isFamilyShared ? .familyRevoke : .refundFull
            current.revocationPercent = row.isFamilyShared ? 0 : 100
        }
        chain.append(current)
        chain.renewal.renewalDate = dates.expires
        chain.renewal.nextProduct =
            row.autoRenewProductID.flatMap { catalogue.subscription(named: $0) } ?? product
        chain.renewal.willRenew =
            row.autoRenews ?? [.active, .billingRetry, .grace].contains(dates.phase)
        chains.append(chain)
        link(chain: index)
        if let token = row.appAccountToken {
            appAccountTokens[index] = [
                AppAccountToken(since: Timestamp(unixMilliseconds: 0), token: token)
            ]
        }
        plan(dates, chain: index)
        return index
    }

    private mutating func plan(_ dates: GivenDates, chain index: Int) {
        switch dates.phase {
        case .active: planEnd(chain: index, from: dates.secondPurchase ?? dates.firstPurchase)
        case .expired: chains[index].renewal.expirationIntent = 1
        case .billingRetry, .grace:
            chains[index].renewal.isInBillingRetry = true
            chains[index].renewal.expirationIntent = 2
            chains[index].paymentFails = true
            if let graceEnd = dates.graceEnd {
                chains[index].renewal.gracePeriodExpiresDate = graceEnd
                schedule(.graceEnd, at: graceEnd, chain: index)
            } else if let end = retryEnd(chain: index) {
                schedule(.retryEnd, at: end, chain: index)
            }
        case .revoked, .single: break
        }
    }
}

/// The dates of a given subscription: those of its row, and consistent ones for what the row leaves
/// open.
private struct GivenDates {
    let phase: PurchaseChain.Phase
    let firstPurchase: Timestamp
    /// The begin of the current period, if that is not the first one.
    let secondPurchase: Timestamp?
    let expires: Timestamp
    let graceEnd: Timestamp?
    let revoked: Timestamp?

    init(_ row: GivenRow, world: borrowing World) throws(LineFault) {
        let now = world.now
        let day = CivilCalendar.millisecondsPerDay
        var random = SeededRandom(seed: world.seed, stream: row.originalID)
        func ago(_ days: ClosedRange<Int64>) -> Timestamp {
            now.adding(
                milliseconds: -random.integer(in: days.lowerBound * day...days.upperBound * day))
        }
        try Self.refuseContradiction(row, now: now)
        let isOver = row.expiresDate.map { $0 <= now } ?? false
        let phase =
            row.status ?? (row.revocationDate != nil ? .revoked : isOver ? .expired : .active)
        self.phase = phase
        let product = world.catalogue.product(of: row)
        let period = world.catalogue.products[Int(product)].period
        let length = period.approximateDays
        let expires: Timestamp
        switch (row.expiresDate, phase) {
        case (let given?, _): expires = given
        case (nil, .expired): expires = ago(1...90)
        case (nil, .billingRetry): expires = ago(1...14)
        case (nil, .grace): expires = ago(1...2)
        case (nil, _):
            // In the middle of a period, so that nothing happens soon.
            expires = now.adding(
                milliseconds: random.integer(in: length * day / 3...length * day * 2 / 3))
        }
        self.expires = expires
        revoked = phase == .revoked ? row.revocationDate ?? ago(1...10) : nil
        graceEnd =
            phase == .grace
            ? row.gracePeriodExpiresDate
                ?? max(
                    expires.adding(milliseconds: Int64(period.graceDays(chosen: 16)) * day),
                    now.adding(milliseconds: day))
            : nil
        // A period begins before everything that is stated about it.
        let hourAgo = now.adding(milliseconds: -CivilCalendar.millisecondsPerHour)
        let begin = [hourAgo, row.signedDate, revoked].compactMap(\.self).reduce(
            period.begin(before: expires), min)
        let hasEarlier = row.latestID.map { $0 != row.originalID } ?? false
        secondPurchase = hasEarlier ? begin : nil
        firstPurchase = hasEarlier ? period.begin(before: begin) : begin
    }

    /// Refuses what no App Store could state.
    private static func refuseContradiction(_ row: GivenRow, now: Timestamp) throws(LineFault) {
        let clock = "the store's clock (\(now.rfc3339))"
        if let signed = row.signedDate, signed > now {
            throw LineFault(row.line, "signed_date \(signed.rfc3339) is after \(clock)")
        }
        guard let status = row.status else { return }
        let name = "status \(status.status)"
        if let expires = row.expiresDate, expires > now,
            [.expired, .billingRetry, .grace].contains(status)
        {
            throw LineFault(
                row.line,
                "\(name) contradicts expires_date \(expires.rfc3339), which is after \(clock)")
        }
        if row.revocationDate != nil, status != .revoked {
            throw LineFault(row.line, "\(name) contradicts the revocation_date; revoked is 5")
        }
        if let revoked = row.revocationDate, revoked > now {
            throw LineFault(row.line, "revocation_date \(revoked.rfc3339) is after \(clock)")
        }
    }
}

extension BillingPeriod {
    fileprivate var approximateDays: Int64 {
        switch self {
        case .days(let count): Int64(count)
        case .months(let count): Int64(count) * 30
        }
    }

    fileprivate func begin(before end: Timestamp) -> Timestamp {
        switch self {
        case .days(let count):
            end.adding(milliseconds: -Int64(count) * CivilCalendar.millisecondsPerDay)
        case .months(let count): CivilCalendar.adding(months: -count, to: end)
        }
    }
}

extension Catalogue {
    /// The product of a given row; a row without one has the first subscription.
    fileprivate func product(of row: GivenRow) -> UInt16 {
        row.productID.flatMap { subscription(named: $0) }
            ?? products.firstIndex { $0.kind == .autoRenewable }.map(UInt16.init) ?? 0
    }
}

extension GivenTable {
    /// The app that sells what the rows name: the given catalogue, or one made from the rows.
    func catalogue(_ given: Catalogue?) throws(SimulatorError) -> Catalogue {
        guard let given else { return try madeCatalogue() }
        var faults = LineFaults()
        for row in rows {
            if let bundle = row.bundleID, bundle != given.bundleID {
                faults.append(
                    LineFault(
                        row.line,
                        "bundle_id \(Self.shown(bundle)) is not that of the catalogue"))
            }
            for product in [row.productID, row.autoRenewProductID].compactMap(\.self)
            where given.subscription(named: product) == nil {
                faults.append(
                    LineFault(
                        row.line,
                        "\(Self.shown(product)) is not a subscription of the catalogue"))
            }
        }
        guard faults.isEmpty else { throw Self.problem(faults.sentence) }
        guard given.products.contains(where: { $0.kind == .autoRenewable }) else {
            throw Self.problem("the catalogue has no subscription.")
        }
        return given
    }

    /// A catalogue with a group for each product; what rows change to is in the group of what they
    /// have.
    private func madeCatalogue() throws(SimulatorError) -> Catalogue {
        let bundleID = rows.lazy.compactMap(\.bundleID).first ?? SimulatedApp().bundleID
        var names: [String] = []
        var place: [String: Int] = [:]
        // For each product another one of its group; the group's own has itself.
        var nextInGroup: [Int] = []
        func add(_ name: String) -> Int {
            if let known = place[name] { return known }
            place[name] = names.count
            nextInGroup.append(names.count)
            names.append(name)
            return names.count - 1
        }
        func group(of product: Int) -> Int {
            var product = product
            while nextInGroup[product] != product { product = nextInGroup[product] }
            return product
        }
        for row in rows {
            let product = add(row.productID ?? bundleID + ".subscription")
            if let next = row.autoRenewProductID {
                nextInGroup[group(of: add(next))] = group(of: product)
            }
        }
        guard names.count <= 1000 else {
            throw Self.problem("it names more than 1000 products.")
        }
        let standard = Catalogue.standard
        let groups = Set(names.indices.map(group)).sorted()
        return Catalogue(
            bundleID: bundleID, appAppleID: SimulatedApp().appAppleID,
            groups: groups.indices.map { String(21_400_001 + $0) },
            products: names.indices.map { index in
                Product(
                    id: names[index], group: groups.firstIndex(of: group(of: index)) ?? 0,
                    period: .suggested(by: names[index]), prices: standard.products[0].prices)
            },
            storefronts: standard.storefronts, offers: [])
    }
}

extension BillingPeriod {
    /// The length that a product's id suggests; a month where it suggests none.
    fileprivate static func suggested(by productID: String) -> BillingPeriod {
        let name = productID.lowercased()
        if ["year", "annual"].contains(where: name.contains) { return .months(12) }
        if name.contains("week") { return .days(7) }
        if name.contains("quarter") { return .months(3) }
        return .months(1)
    }
}
