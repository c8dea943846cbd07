import Subscriptions

/// Events that happen without a customer's action: renewals, failed charges, expiry.
extension World {
    /// Runs the chain's next event.
    mutating func runNextEvent(chain index: Int) {
        let moment = chains[index].eventDate
        let event = chains[index].event
        chains[index].event = .none
        chains[index].eventDate = PurchaseChain.never
        switch event {
        case .none: break
        case .midPeriod: midPeriod(chain: index, at: moment)
        case .renewal: attemptRenewal(chain: index, at: moment)
        case .billingFailure: failToRenew(chain: index, at: moment)
        case .graceEnd: endGrace(chain: index, at: moment)
        case .retryEnd: giveUpRetry(chain: index, at: moment)
        case .recovery: recover(chain: index, at: moment)
        case .expiry: expire(chain: index, at: moment)
        case .refundReversal:
            guard let period = refundedPeriod(chain: index) else { break }
            reverseRefund(chain: index, period: period, at: moment)
            // A group that kept access has nothing planned yet.
            if chains[index].event == .none, chains[index].phase == .active {
                planEnd(chain: index, from: moment)
            }
        case .resubscription: resubscribeByChance(chain: index, at: moment)
        case .reenabling: setRenewal(chain: index, on: true, at: moment)
        case .priceConsent:
            acceptPriceIncrease(chain: index, at: moment)
            planEnd(chain: index, from: moment)
        case .refundAnswer:
            notify(.refundDeclined, chain: index, at: moment)
            planEnd(chain: index, from: moment)
        }
        mirror(chain: index)
    }

    mutating func schedule(_ event: PurchaseChain.NaturalEvent, at date: Timestamp, chain: Int) {
        chains[chain].event = event
        chains[chain].eventDate = date
    }

    /// Plans what happens after a period began: a random event in its middle, or else its end.
    mutating func planPeriod(chain index: Int) {
        guard !chains[index].isScripted, let current = chains[index].current else {
            if let begin = chains[index].current?.purchaseDate {
                planEnd(chain: index, from: begin)
            }
            return
        }
        let length = current.expiresDate.milliseconds(since: current.purchaseDate)
        let sum = rates.midPeriodProbability(ofGroup: groups[index] != nil)
        guard chains[index].random.chance(sum) else {
            return planEnd(chain: index, from: current.purchaseDate)
        }
        let part = 0.05 + 0.8 * chains[index].random.fraction()
        schedule(
            .midPeriod, at: current.purchaseDate.adding(milliseconds: Int64(Double(length) * part)),
            chain: index)
    }

    /// Plans the end of the current period: a renewal attempt shortly before it, or the expiry.
    ///
    /// Nothing is planned before `moment`, because payloads may already have stated the past.
    mutating func planEnd(chain index: Int, from moment: Timestamp) {
        guard let current = chains[index].current else { return }
        let end = current.expiresDate
        guard chains[index].renewsNextPeriod, !isDeleted(chain: index) else {
            return schedule(.expiry, at: end, chain: index)
        }
        // Apple charges within the 24 hours before the end; for a weekly period less early.
        let length = end.milliseconds(since: current.purchaseDate)
        guard !chains[index].isScripted else {
            // Scripted renewals are predictable: charged one hour before the end.
            let attempt = end.adding(
                milliseconds: -min(CivilCalendar.millisecondsPerHour, length / 8))
            return schedule(.renewal, at: max(attempt, moment), chain: index)
        }
        let lead = chains[index].random.integer(
            in: 60_000...max(60_000, min(72_000_000, length / 8)))
        let attempt = end.adding(milliseconds: -lead)
        schedule(.renewal, at: max(attempt, moment), chain: index)
    }

    private mutating func attemptRenewal(chain index: Int, at moment: Timestamp) {
        guard let current = chains[index].current else { return }
        if chains[index].renewal.priceIncrease == .pending, !current.owesPayments {
            // Without the consent that Apple asked for, the subscription expires.
            chains[index].renewal.expirationIntent = 3
            chains[index].renewal.willRenew = false
            return schedule(.expiry, at: current.expiresDate, chain: index)
        }
        if !chains[index].isScripted {
            let fails = chains[index].random.chance(rates.billingFailure)
            chains[index].paymentFails = fails
        }
        guard !chains[index].paymentFails else {
            return schedule(.billingFailure, at: current.expiresDate, chain: index)
        }
        beginPeriod(
            chain: index, at: moment, countedFrom: current.expiresDate, isRenewal: true)
        stopAfterLastRenewal(chain: index)
        notify(.didRenew, chain: index, at: moment)
        tellDeferredChoices(chain: index, at: moment)
        planPeriod(chain: index)
    }

    /// Turns auto-renewal off after as many renewals in a row as the sandbox makes; a commitment is
    /// fulfilled first.
    mutating func stopAfterLastRenewal(chain index: Int) {
        guard let highest = pace.highestRenewals, chains[index].current?.owesPayments == false,
            chains[index].transactions.suffix(highest).filter(\.isRenewal).count == highest
        else { return }
        chains[index].renewal.willRenew = false
    }

    private mutating func failToRenew(chain index: Int, at moment: Timestamp) {
        guard let current = chains[index].current else { return }
        let period = catalogue.products[Int(current.product)].period
        let graceDays =
            catalogue.hasGraceForPaidRenewalsOnly
                && catalogue.offers[Int(current.offer)].isFreeTrial
            ? 0 : period.graceDays(chosen: self.graceDays)
        chains[index].renewal.isInBillingRetry = true
        chains[index].renewal.expirationIntent = 2
        guard graceDays > 0 else {
            chains[index].phase = .billingRetry
            notify(.didFailToRenew, chain: index, at: moment)
            return planRetry(chain: index, after: moment)
        }
        let graceEnd = moment.adding(
            milliseconds: pace.scaled(Int64(graceDays) * CivilCalendar.millisecondsPerDay))
        chains[index].phase = .grace
        chains[index].renewal.gracePeriodExpiresDate = graceEnd
        notify(.didFailToRenewGracePeriod, chain: index, at: moment)
        if !chains[index].isScripted, !isDeleted(chain: index),
            chains[index].random.chance(rates.recoveryInGrace)
        {
            let length = Double(graceEnd.milliseconds(since: moment))
            let part = 0.05 + 0.9 * chains[index].random.fraction()
            schedule(.recovery, at: moment.adding(milliseconds: Int64(length * part)), chain: index)
        } else {
            schedule(.graceEnd, at: graceEnd, chain: index)
        }
    }

    private mutating func endGrace(chain index: Int, at moment: Timestamp) {
        chains[index].phase = .billingRetry
        chains[index].renewal.gracePeriodExpiresDate = nil
        notify(.gracePeriodExpired, chain: index, at: moment)
        planRetry(chain: index, after: moment)
    }

    /// Apple retries for sixty days after the period's end, grace included.
    private mutating func planRetry(chain index: Int, after moment: Timestamp) {
        guard let end = retryEnd(chain: index) else { return }
        if !chains[index].isScripted, !isDeleted(chain: index),
            chains[index].random.chance(rates.recoveryInRetry)
        {
            let length = Double(end.milliseconds(since: moment))
            let part = 0.05 + 0.9 * chains[index].random.fraction()
            schedule(.recovery, at: moment.adding(milliseconds: Int64(length * part)), chain: index)
        } else {
            schedule(.retryEnd, at: end, chain: index)
        }
    }

    /// When Apple stops retrying: sixty days after the period's end.
    func retryEnd(chain index: Int) -> Timestamp? {
        chains[index].current?.expiresDate.adding(
            milliseconds: pace.scaled(60 * CivilCalendar.millisecondsPerDay))
    }

    private mutating func giveUpRetry(chain index: Int, at moment: Timestamp) {
        chains[index].phase = .expired
        chains[index].renewal.isInBillingRetry = false
        chains[index].renewal.willRenew = false
        notify(.expiredBillingRetry, chain: index, at: moment)
        planReturn(chain: index, after: moment)
    }

    private mutating func expire(chain index: Int, at moment: Timestamp) {
        chains[index].phase = .expired
        if chains[index].renewal.expirationIntent == 0 {
            chains[index].renewal.expirationIntent = 1
        }
        chains[index].renewal.willRenew = false
        chains[index].renewal.priceIncrease = .none
        let event: NotificationEvent =
            switch chains[index].renewal.expirationIntent {
            case 1: .expiredVoluntary
            case 2: .expiredBillingRetry
            case 3: .expiredPriceIncrease
            case 4: .expiredProductNotForSale
            default: .expired
            }
        notify(event, chain: index, at: moment)
        planReturn(chain: index, after: moment)
    }

    /// Plans a later resubscription under the same original id, for a share of customers.
    mutating func planReturn(chain index: Int, after moment: Timestamp) {
        guard !chains[index].isScripted, !chains[index].isFamilyShared, !isDeleted(chain: index),
            chains[index].random.chance(rates.resubscription)
        else { return }
        let days = chains[index].random.integer(in: 4...150)
        let minutes = chains[index].random.integer(in: 0...1439)
        schedule(
            .resubscription,
            at: moment.adding(
                milliseconds: pace.scaled(
                    days * CivilCalendar.millisecondsPerDay + minutes * 60_000)),
            chain: index)
    }

    private mutating func resubscribeByChance(chain index: Int, at moment: Timestamp) {
        let winsBack = chains[index].random.chance(rates.winBack)
        resubscribe(
            chain: index, product: chains[index].renewal.nextProduct,
            offer: winsBack ? catalogue.offers(ofType: .winBack).first ?? 0 : 0,
            at: moment)
    }
}
