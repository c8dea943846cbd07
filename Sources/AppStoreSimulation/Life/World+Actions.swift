import Subscriptions

/// What customers and the store do to a subscription, in scenarios and in a random population.
extension World {
    /// Turns auto-renewal on or off.
    ///
    /// A notification says what the renewal info next to it says. While a commitment owes payments,
    /// its next period renews whatever the customer chose: that shows in `commitmentInfo`, and
    /// `tellDeferredChoices` notifies with the last payment.
    mutating func setRenewal(chain index: Int, on: Bool, at moment: Timestamp) {
        guard chains[index].renewal.willRenew != on else { return }
        chains[index].renewal.willRenew = on
        if chains[index].current?.owesPayments != true {
            notify(
                on ? .didChangeRenewalStatusEnabled : .didChangeRenewalStatusDisabled,
                chain: index, at: moment)
        }
        if chains[index].phase == .active { planEnd(chain: index, from: moment) }
    }

    /// An upgrade, or a crossgrade of equal duration: it takes effect at once, marks the old
    /// transaction as upgraded and begins a new period.
    mutating func upgrade(chain index: Int, to product: UInt16, offer: UInt8, at moment: Timestamp)
    {
        let last = chains[index].transactions.count - 1
        guard last >= 0, chains[index].phase == .active else { return }
        chains[index].transactions[last].isUpgraded = true
        chains[index].transactions[last].modifiedDate = moment
        chains[index].renewal.dropPriceIncrease()
        chains[index].renewal.nextProduct = product
        chains[index].renewal.nextOffer = offer
        beginPeriod(chain: index, at: moment, isRenewal: false)
        notify(
            offer == 0 ? .didChangeRenewalPrefUpgrade : .offerRedeemedUpgrade, chain: index,
            at: moment)
        planPeriod(chain: index)
    }

    /// A downgrade, or a crossgrade to another duration: it takes effect at the renewal.
    mutating func changeNextProduct(chain index: Int, to product: UInt16, at moment: Timestamp) {
        guard let current = chains[index].current else { return }
        chains[index].renewal.nextProduct = product
        if product != current.product { chains[index].renewal.dropPriceIncrease() }
        guard !current.owesPayments else { return }
        notify(
            product == current.product ? .didChangeRenewalPref : .didChangeRenewalPrefDowngrade,
            chain: index, at: moment)
    }

    /// Notifies of what the customer chose during a commitment, once the last payment has begun and
    /// the renewal info states it.
    mutating func tellDeferredChoices(chain index: Int, at moment: Timestamp) {
        guard let current = chains[index].current, current.commitmentPayment == 12 else { return }
        if chains[index].renewal.nextProduct != current.product {
            notify(.didChangeRenewalPrefDowngrade, chain: index, at: moment)
        }
        if !chains[index].renewal.willRenew {
            notify(.didChangeRenewalStatusDisabled, chain: index, at: moment)
        }
    }

    /// The customer subscribes again after the end, under the same original id.
    mutating func resubscribe(
        chain index: Int, product: UInt16, offer: UInt8, at moment: Timestamp
    ) {
        let current = chains[index].current
        let lapse = current.map { moment.milliseconds(since: $0.expiresDate) } ?? 0
        if lapse > 60 * CivilCalendar.millisecondsPerDay { chains[index].streakStart = moment }
        if product != current?.product { chains[index].renewal.dropPriceIncrease() }
        chains[index].renewal.nextProduct = product
        chains[index].renewal.nextOffer = offer
        chains[index].renewal.willRenew = true
        beginPeriod(chain: index, at: moment, isRenewal: false)
        notify(.subscribedResubscribe, chain: index, at: moment)
        planPeriod(chain: index)
    }

    /// The failed charge succeeds.
    ///
    /// In the grace period the billing dates stay, later a new cycle begins. It also begins where a
    /// shorter product follows, whose period would be over already.
    mutating func recover(chain index: Int, at moment: Timestamp) {
        guard let current = chains[index].current,
            [.grace, .billingRetry].contains(chains[index].phase)
        else { return }
        let next = nextPurchase(chain: index, isRenewal: true)
        let kept = pace.end(
            of: catalogue.period(of: next.product, offer: next.offer), after: current.expiresDate)
        let staysInCycle = chains[index].phase == .grace && kept > moment
        chains[index].paymentFails = false
        beginPeriod(
            chain: index, at: moment, countedFrom: staysInCycle ? current.expiresDate : moment,
            isRenewal: true)
        stopAfterLastRenewal(chain: index)
        notify(.didRenewBillingRecovery, chain: index, at: moment)
        tellDeferredChoices(chain: index, at: moment)
        planPeriod(chain: index)
    }

    mutating func increasePrice(
        chain index: Int, percent: UInt8, needsConsent: Bool, at moment: Timestamp
    ) {
        chains[index].renewal.priceIncreasePercent = percent
        chains[index].renewal.priceIncrease = needsConsent ? .pending : .accepted
        notify(
            needsConsent ? .priceIncreasePending : .priceIncreaseAccepted, chain: index, at: moment)
    }

    mutating func acceptPriceIncrease(chain index: Int, at moment: Timestamp) {
        guard chains[index].renewal.priceIncrease == .pending else { return }
        chains[index].renewal.priceIncrease = .accepted
        notify(.priceIncreaseAccepted, chain: index, at: moment)
    }

    /// The product and offer of the next period; a commitment keeps its product until it is paid.
    private func nextPurchase(
        chain index: Int, isRenewal: Bool
    ) -> (product: UInt16, offer: UInt8) {
        if isRenewal, let current = chains[index].current, current.owesPayments {
            return (current.product, 0)
        }
        return (chains[index].renewal.nextProduct, chains[index].renewal.nextOffer)
    }

    /// Adds a period and updates status and renewal info.
    ///
    /// `start`: where the period is counted from, if that is not the moment of the charge.
    mutating func beginPeriod(
        chain index: Int, at moment: Timestamp, countedFrom start: Timestamp? = nil,
        isRenewal: Bool
    ) {
        let before = chains[index].current
        let goesOn = isRenewal && before?.owesPayments == true
        let (product, offer) = nextPurchase(chain: index, isRenewal: isRenewal)
        if chains[index].renewal.priceIncrease == .accepted {
            chains[index].renewal.priceIncrease = .none
        }
        let end = pace.end(
            of: catalogue.period(of: product, offer: offer), after: start ?? moment)
        var transaction = StoredTransaction(
            purchaseDate: moment, expiresDate: end, modifiedDate: moment, product: product,
            priceIncreasePercent: chains[index].renewal.priceIncreasePercent,
            isRenewal: isRenewal, offer: offer)
        if catalogue.products[Int(product)].isMonthlyCommitment {
            transaction.commitmentPayment = goesOn ? (before?.commitmentPayment ?? 0) + 1 : 1
        }
        chains[index].append(transaction)
        renewSeats(chain: index, at: moment)
        chains[index].phase = .active
        chains[index].renewal.renewalDate = end
        if !goesOn { chains[index].renewal.nextOffer = 0 }
        chains[index].renewal.isInBillingRetry = false
        chains[index].renewal.gracePeriodExpiresDate = nil
        chains[index].renewal.expirationIntent = 0
    }
}

/// Refunds and their reversal.
extension World {
    /// Refunds one period; the subscription ends only when it is the current one, and a group's
    /// only when every transaction of the current one is refunded.
    ///
    /// `percent`: 100 for a full refund, less for a prorated one.
    mutating func refund(
        chain index: Int, period: Int, percent: UInt8, reason: UInt8, at moment: Timestamp
    ) {
        guard chains[index].transactions.indices.contains(period) else { return }
        chains[index].transactions[period].revoke(
            percent == 100 ? .refundFull : .refundProrated, percent: percent, reason: reason,
            at: moment)
        if let group = groups[index], percent == 100 {
            let left = group.seats(of: period) - group.revoked(of: period, at: moment)
            groups[index]?.refund(left, of: period, at: moment)
            unclaimRefundedSeats(chain: index, at: moment)
        }
        let endsAccess =
            isOfCurrentPeriod(chain: index, transaction: period, at: moment)
            && isWhollyRefunded(chain: index, at: moment)
        if endsAccess, chains[index].isSubscription {
            chains[index].phase = .revoked
            chains[index].renewal.willRenew = false
            chains[index].renewal.isInBillingRetry = false
            chains[index].renewal.gracePeriodExpiresDate = nil
            schedule(.none, at: PurchaseChain.never, chain: index)
        }
        notify(.refund, chain: index, period: period, at: moment)
    }

    /// The period whose refund can be reversed: the current one, otherwise the one refunded last.
    func refundedPeriod(chain index: Int) -> Int? {
        let transactions = chains[index].transactions
        let refunded = transactions.indices.filter {
            [.refundFull, .refundProrated].contains(transactions[$0].revocation)
        }
        if refunded.last == transactions.count - 1 { return refunded.last }
        return refunded.max { left, right in
            (transactions[left].revocationDate ?? PurchaseChain.never, left)
                < (transactions[right].revocationDate ?? PurchaseChain.never, right)
        }
    }

    /// Reverses the refund of a period; its dates stay as they were.
    mutating func reverseRefund(chain index: Int, period: Int, at moment: Timestamp) {
        chains[index].transactions[period].reinstate(at: moment)
        groups[index]?.giveBack(period, at: moment)
        let current = chains[index].transactions.count - 1
        let isOfCurrent = isOfCurrentPeriod(chain: index, transaction: period, at: moment)
        if isOfCurrent, chains[index].phase == .revoked, chains[index].isSubscription {
            if chains[index].transactions[current].expiresDate > moment {
                chains[index].phase = .active
                chains[index].renewal.expirationIntent = 0
                planEnd(chain: index, from: moment)
            } else {
                chains[index].phase = .expired
                chains[index].renewal.expirationIntent = 1
                planReturn(chain: index, after: moment)
            }
        }
        notify(.refundReversed, chain: index, period: period, at: moment)
    }
}

extension World {
    /// Deletes an Apple Account: from then on nothing is charged, and no notification about it is
    /// sent.
    ///
    /// Paid periods run until their end, so family members keep access until then.
    mutating func delete(account: Int, at moment: Timestamp) {
        accounts[account].isDeleted = true
        for index in chains(ofAccount: account) where chains[index].isSubscription {
            guard !chains[index].isFamilyShared else { continue }
            chains[index].paymentFails = true
            chains[index].renewal.willRenew = false
            switch chains[index].phase {
            case .active:
                guard let current = chains[index].current else { continue }
                schedule(.expiry, at: current.expiresDate, chain: index)
            case .grace where chains[index].event == .recovery:
                schedule(
                    .graceEnd, at: chains[index].renewal.gracePeriodExpiresDate ?? moment,
                    chain: index)
            case .billingRetry where chains[index].event == .recovery:
                schedule(.retryEnd, at: retryEnd(chain: index) ?? moment, chain: index)
            case .grace, .billingRetry: break
            case .single, .expired, .revoked:
                schedule(.none, at: PurchaseChain.never, chain: index)
            }
        }
    }

    /// Whether the account of a chain was deleted.
    func isDeleted(chain index: Int) -> Bool {
        accounts[Int(chains[index].account)].isDeleted
    }
}
