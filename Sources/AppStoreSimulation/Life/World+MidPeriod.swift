import Subscriptions

/// Random events in the middle of a period: one is drawn, then carried out.
///
/// A later consequence before the period's end is scheduled as an event: the result must not depend on
/// whether the clock moves in one step or in many.
extension World {
    /// How long Apple takes to decide on a refund in a random population.
    private static let refundAnswerMilliseconds: Int64 = 5_400_000

    mutating func midPeriod(chain index: Int, at moment: Timestamp) {
        let action = drawAction(chain: index)
        take(action, chain: index, at: moment)
        // Most actions leave the period's end to be planned; some have already planned their next event.
        if chains[index].event == .none, chains[index].phase == .active {
            planEnd(chain: index, from: moment)
        }
    }

    private mutating func drawAction(chain index: Int) -> MidPeriodAction {
        let isGroup = groups[index] != nil
        let shares = rates.midPeriodShares(ofGroup: isGroup)
        var point =
            chains[index].random.fraction() * rates.midPeriodProbability(ofGroup: isGroup)
        for (share, action) in shares {
            if point < share { return action }
            point -= share
        }
        return .cancel
    }

    private mutating func take(_ action: MidPeriodAction, chain index: Int, at moment: Timestamp) {
        switch action {
        case .cancel: cancelByChance(chain: index, at: moment)
        case .refund: refundByChance(chain: index, at: moment)
        case .refundOfEarlierPeriod:
            let count = chains[index].transactions.count
            guard count >= 2 else { return }
            let period = Int(chains[index].random.integer(in: 0...Int64(count - 2)))
            guard chains[index].transactions[period].revocationDate == nil else { return }
            refund(chain: index, period: period, percent: 100, reason: 0, at: moment)
        case .refundDeclined:
            notify(.consumptionRequest, chain: index, at: moment)
            schedule(
                .refundAnswer,
                at: moment.adding(milliseconds: pace.scaled(Self.refundAnswerMilliseconds)),
                chain: index)
        case .upgrade:
            guard let product = otherProduct(chain: index, higher: true) else { return }
            upgrade(chain: index, to: product, offer: 0, at: moment)
        case .downgrade:
            guard let product = otherProduct(chain: index, higher: false) else { return }
            changeNextProduct(chain: index, to: product, at: moment)
        case .crossgrade:
            guard let product = crossgradeProduct(chain: index) else { return }
            changeNextProduct(chain: index, to: product, at: moment)
        case .priceIncrease: increasePriceByChance(chain: index, at: moment)
        case .extend:
            let days = Int(chains[index].random.integer(in: 3...30))
            guard extensionRefusal(chain: index, at: moment) == nil else { return }
            extendRenewal(chain: index, days: days, at: moment)
        case .withdraw:
            chains[index].renewal.willRenew = false
            chains[index].renewal.expirationIntent = 4
        case .offer:
            guard let offer = catalogue.offers(ofType: .promotional).first else { return }
            chains[index].renewal.nextOffer = offer
            notify(.offerRedeemed, chain: index, at: moment)
        case .familyLeaves:
            guard chains[index].firstFollower >= 0 else { return }
            endSharing(leader: index, at: moment)
        case .addSeats:
            addSeats(
                chain: index, Int(chains[index].random.integer(in: 1...5)), at: moment)
        case .removeSeats:
            let seats = groups[index]?.renewalSeats(at: moment) ?? 1
            guard seats > 1 else { return }
            removeSeats(
                chain: index, Int(chains[index].random.integer(in: 1...Int64(seats - 1))),
                at: moment)
        case .refundSeats: refundSeatsByChance(chain: index, at: moment)
        }
    }

    /// Refunds some of the seats that one purchase of the current period still has.
    private mutating func refundSeatsByChance(chain index: Int, at moment: Timestamp) {
        guard let group = groups[index] else { return }
        let last = chains[index].transactions.count - 1
        let together = group.transactions(besides: last, at: moment)
        let place = Int(chains[index].random.integer(in: 0...Int64(together.count - 1)))
        let transaction = together[place]
        let left = group.seats(of: transaction) - group.revoked(of: transaction, at: moment)
        guard left > 1 else { return }
        refundSeats(
            chain: index, transaction: transaction,
            Int(chains[index].random.integer(in: 1...Int64(left - 1))), at: moment)
    }

    private mutating func cancelByChance(chain index: Int, at moment: Timestamp) {
        setRenewal(chain: index, on: false, at: moment)
        guard let current = chains[index].current, chains[index].random.chance(rates.reenable)
        else { return }
        let left = current.expiresDate.milliseconds(since: moment)
        schedule(.reenabling, at: moment.adding(milliseconds: left / 3), chain: index)
    }

    private mutating func refundByChance(chain index: Int, at moment: Timestamp) {
        // Apple refunds whole seats.
        let prorated = groups[index] == nil && chains[index].random.chance(0.3)
        let percent: UInt8 =
            prorated ? UInt8(chains[index].random.integer(in: 20...80)) : 100
        let reason: UInt8 = chains[index].random.chance(0.4) ? 1 : 0
        refund(
            chain: index, period: chains[index].transactions.count - 1, percent: percent,
            reason: reason, at: moment)
        if chains[index].random.chance(rates.refundReversal) {
            let days = chains[index].random.integer(in: 2...20)
            schedule(
                .refundReversal,
                at: moment.adding(
                    milliseconds: pace.scaled(days * CivilCalendar.millisecondsPerDay)),
                chain: index)
        } else if chains[index].phase == .revoked {
            planReturn(chain: index, after: moment)
        }
    }

    private mutating func increasePriceByChance(chain index: Int, at moment: Timestamp) {
        increasePrice(chain: index, percent: 20, needsConsent: true, at: moment)
        guard !chains[index].random.chance(rates.priceIncreaseRefusal),
            let current = chains[index].current
        else { return }
        let left = current.expiresDate.milliseconds(since: moment)
        schedule(.priceConsent, at: moment.adding(milliseconds: left / 4), chain: index)
    }

    /// Another product of the group at a higher (or lower) level of service.
    private mutating func otherProduct(chain index: Int, higher: Bool) -> UInt16? {
        guard let current = chains[index].current else { return nil }
        let mine = catalogue.products[Int(current.product)]
        let candidates = catalogue.products.indices.filter {
            let product = catalogue.products[$0]
            return product.group == mine.group && !product.isMonthlyCommitment
                && (higher ? product.level < mine.level : product.level > mine.level)
        }
        guard !candidates.isEmpty, !mine.isMonthlyCommitment else { return nil }
        let pick = chains[index].random.integer(in: 0...Int64(candidates.count - 1))
        return UInt16(candidates[Int(pick)])
    }

    /// A product of the same level and another duration, which takes effect at the renewal.
    private func crossgradeProduct(chain index: Int) -> UInt16? {
        guard let current = chains[index].current else { return nil }
        let mine = catalogue.products[Int(current.product)]
        return catalogue.products.indices.first {
            let product = catalogue.products[$0]
            return product.group == mine.group && product.level == mine.level
                && product.period != mine.period
        }.map(UInt16.init)
    }
}

extension LifeRates {
    /// The probability that any of these events happens in a period.
    func midPeriodProbability(ofGroup isGroup: Bool) -> Double {
        midPeriodShares(ofGroup: isGroup).reduce(0) { $0 + $1.share }
    }

    func midPeriodShares(ofGroup isGroup: Bool) -> [(share: Double, action: MidPeriodAction)] {
        guard !isGroup else {
            return [
                (cancel, .cancel), (refund, .refund),
                (refundOfEarlierPeriod, .refundOfEarlierPeriod), (seatsAdded, .addSeats),
                (seatsRemoved, .removeSeats), (seatsRefunded, .refundSeats),
            ]
        }
        return [
            (cancel, .cancel), (refund, .refund), (refundOfEarlierPeriod, .refundOfEarlierPeriod),
            (refundDeclined, .refundDeclined), (upgrade, .upgrade), (downgrade, .downgrade),
            (crossgrade, .crossgrade), (priceIncrease, .priceIncrease),
            (renewalExtension, .extend), (productWithdrawn, .withdraw), (offerRedeemed, .offer),
            (familyLeaves, .familyLeaves),
        ]
    }
}

/// A random event in the middle of a period.
enum MidPeriodAction: Sendable {
    case cancel, refund, refundOfEarlierPeriod, refundDeclined, upgrade, downgrade, crossgrade
    case priceIncrease, extend, withdraw, offer, familyLeaves
    case addSeats, removeSeats, refundSeats
}
