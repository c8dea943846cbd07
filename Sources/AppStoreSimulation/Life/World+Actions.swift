import Subscriptions

/// What customers and the store do to a subscription; scripts and chance both call these.
extension World {
    /// Turns auto-renewal on or off.
    mutating func setRenewal(chain index: Int, on: Bool, at moment: Timestamp) {
        guard chains[index].renewal.willRenew != on else { return }
        chains[index].renewal.willRenew = on
        notify(
            on ? .didChangeRenewalStatusEnabled : .didChangeRenewalStatusDisabled, chain: index,
            at: moment)
        if chains[index].phase == .active { planEnd(chain: index, from: moment) }
    }

    /// An upgrade, or a crossgrade of equal duration, takes effect at once: the old transaction is
    /// marked, a new period begins.
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

    /// A downgrade, or a crossgrade to another length: takes effect at the renewal.
    mutating func changeNextProduct(chain index: Int, to product: UInt16, at moment: Timestamp) {
        guard let current = chains[index].current else { return }
        chains[index].renewal.nextProduct = product
        if product != current.product { chains[index].renewal.dropPriceIncrease() }
        notify(
            product == current.product ? .didChangeRenewalPref : .didChangeRenewalPrefDowngrade,
            chain: index, at: moment)
    }

    /// Bought again after its end, under the same original id.
    mutating func resubscribe(
        chain index: Int, product: UInt16, offer: UInt8, at moment: Timestamp
    ) {
        let current = chains[index].current
        let lapse = current.map { moment.milliseconds(since: $0.expiresDate) } ?? 0
        if lapse > 60 * BillingPeriod.millisecondsPerDay { chains[index].streakStart = moment }
        if product != current?.product { chains[index].renewal.dropPriceIncrease() }
        chains[index].renewal.nextProduct = product
        chains[index].renewal.nextOffer = offer
        chains[index].renewal.willRenew = true
        beginPeriod(chain: index, at: moment, isRenewal: false)
        notify(.subscribedResubscribe, chain: index, at: moment)
        planPeriod(chain: index)
    }

    /// The failed charge succeeds: in grace the billing dates stay, later a new cycle begins.
    mutating func recover(chain index: Int, at moment: Timestamp) {
        guard let current = chains[index].current,
            [.grace, .billingRetry].contains(chains[index].phase)
        else { return }
        let start = chains[index].phase == .grace ? current.expiresDate : moment
        chains[index].paymentFails = false
        beginPeriod(chain: index, at: moment, countedFrom: start, isRenewal: true)
        notify(.didRenewBillingRecovery, chain: index, at: moment)
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

    /// Moves the renewal date; the end of the current period moves with it, so that an extended
    /// subscription never looks active and expired at once. (Apple does not document the latter.)
    mutating func extendRenewal(chain index: Int, days: Int, at moment: Timestamp) {
        let last = chains[index].transactions.count - 1
        guard last >= 0, chains[index].phase == .active else { return }
        let end = chains[index].transactions[last].expiresDate.adding(
            milliseconds: Int64(days) * BillingPeriod.millisecondsPerDay)
        chains[index].transactions[last].expiresDate = end
        chains[index].transactions[last].modifiedDate = moment
        chains[index].renewal.renewalDate = end
        notify(.renewalExtended, chain: index, at: moment)
        planEnd(chain: index, from: moment)
    }

    /// Adds a period with all that follows from it for status and renewal info.
    ///
    /// `start`: what its length is counted from, where that is not the moment of the charge.
    mutating func beginPeriod(
        chain index: Int, at moment: Timestamp, countedFrom start: Timestamp? = nil,
        isRenewal: Bool
    ) {
        let before = chains[index].current
        let goesOn = isRenewal && before?.owesPayments == true
        let product =
            goesOn ? before?.product ?? 0 : chains[index].renewal.nextProduct
        let offer = goesOn ? 0 : chains[index].renewal.nextOffer
        if chains[index].renewal.priceIncrease == .accepted {
            chains[index].renewal.priceIncrease = .none
        }
        let end = Catalogue.period(of: product, offer: offer).end(after: start ?? moment)
        var transaction = StoredTransaction(
            purchaseDate: moment, expiresDate: end, modifiedDate: moment, product: product,
            priceIncreasePercent: chains[index].renewal.priceIncreasePercent,
            isRenewal: isRenewal, offer: offer)
        if Catalogue.products[Int(product)].isMonthlyCommitment {
            transaction.commitmentPayment = goesOn ? (before?.commitmentPayment ?? 0) + 1 : 1
        }
        chains[index].transactions.append(transaction)
        chains[index].phase = .active
        chains[index].renewal.renewalDate = end
        if !goesOn { chains[index].renewal.nextOffer = 0 }
        chains[index].renewal.isInBillingRetry = false
        chains[index].renewal.gracePeriodExpiresDate = nil
        chains[index].renewal.expirationIntent = 0
    }
}
