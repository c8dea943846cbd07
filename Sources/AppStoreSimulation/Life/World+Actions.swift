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
        if chains[index].phase == .active { planEnd(chain: index) }
    }

    /// Takes effect at once: the old transaction is marked, a new period begins.
    mutating func upgrade(chain index: Int, to product: UInt16, offer: UInt8, at moment: Timestamp)
    {
        let last = chains[index].transactions.count - 1
        guard last >= 0, chains[index].phase == .active else { return }
        chains[index].transactions[last].isUpgraded = true
        chains[index].transactions[last].modifiedDate = moment
        chains[index].renewal.nextProduct = product
        chains[index].renewal.nextOffer = offer
        beginPeriod(
            chain: index, at: moment,
            until: Catalogue.products[Int(product)].period.end(after: moment), isRenewal: false)
        notify(
            offer == 0 ? .didChangeRenewalPrefUpgrade : .offerRedeemedUpgrade, chain: index,
            at: moment)
        planPeriod(chain: index)
    }

    /// A downgrade, or a crossgrade to another length: takes effect at the renewal.
    mutating func changeNextProduct(chain index: Int, to product: UInt16, at moment: Timestamp) {
        guard let current = chains[index].current else { return }
        chains[index].renewal.nextProduct = product
        notify(
            product == current.product ? .didChangeRenewalPref : .didChangeRenewalPrefDowngrade,
            chain: index, at: moment)
    }

    /// Refunds one period; the subscription ends only when it is the current one.
    ///
    /// `percent`: 100 for a full refund, less for a prorated one.
    mutating func refund(
        chain index: Int, period: Int, percent: UInt8, reason: UInt8, at moment: Timestamp
    ) {
        guard chains[index].transactions.indices.contains(period) else { return }
        chains[index].transactions[period].revocationDate = moment
        chains[index].transactions[period].modifiedDate = moment
        chains[index].transactions[period].revocation =
            percent == 100 ? .refundFull : .refundProrated
        chains[index].transactions[period].revocationPercent = percent
        chains[index].transactions[period].revocationReason = reason
        let isCurrent = period == chains[index].transactions.count - 1
        if isCurrent, chains[index].isSubscription {
            chains[index].phase = .revoked
            chains[index].renewal.willRenew = false
            chains[index].renewal.isInBillingRetry = false
            chains[index].renewal.gracePeriodExpiresDate = nil
            chains[index].event = .none
            chains[index].eventDate = PurchaseChain.never
        }
        notify(
            chains[index].isFamilyShared ? .revoke : .refund, chain: index, period: period,
            at: moment)
    }

    /// Gives back what the refund of the current period took; dates stay as they were.
    mutating func reverseRefund(chain index: Int, at moment: Timestamp) {
        let last = chains[index].transactions.count - 1
        guard last >= 0, chains[index].transactions[last].revocationDate != nil else { return }
        chains[index].transactions[last].revocationDate = nil
        chains[index].transactions[last].revocation = .none
        chains[index].transactions[last].revocationPercent = 0
        chains[index].transactions[last].modifiedDate = moment
        if chains[index].isSubscription {
            if chains[index].transactions[last].expiresDate > moment {
                chains[index].phase = .active
                chains[index].renewal.expirationIntent = 0
                planEnd(chain: index)
            } else {
                chains[index].phase = .expired
                chains[index].renewal.expirationIntent = 1
                planReturn(chain: index, after: moment)
            }
        }
        notify(.refundReversed, chain: index, at: moment)
    }

    /// Bought again after its end, under the same original id.
    mutating func resubscribe(
        chain index: Int, product: UInt16, offer: UInt8, at moment: Timestamp
    ) {
        let lapse = chains[index].current.map { moment.milliseconds(since: $0.expiresDate) } ?? 0
        if lapse > 60 * BillingPeriod.millisecondsPerDay { chains[index].streakStart = moment }
        chains[index].renewal.nextProduct = product
        chains[index].renewal.nextOffer = offer
        chains[index].renewal.willRenew = true
        beginPeriod(
            chain: index, at: moment,
            until: Catalogue.products[Int(product)].period.end(after: moment), isRenewal: false)
        notify(.subscribedResubscribe, chain: index, at: moment)
        planPeriod(chain: index)
    }

    /// The failed charge succeeds: in grace the billing dates stay, later a new cycle begins.
    mutating func recover(chain index: Int, at moment: Timestamp) {
        guard let current = chains[index].current,
            [.grace, .billingRetry].contains(chains[index].phase)
        else { return }
        let product = Catalogue.products[Int(chains[index].renewal.nextProduct)]
        let start = chains[index].phase == .grace ? current.expiresDate : moment
        chains[index].paymentFails = false
        beginPeriod(
            chain: index, at: moment, until: product.period.end(after: start), isRenewal: true)
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
        planEnd(chain: index)
    }

    /// Adds a period with all that follows from it for status and renewal info.
    mutating func beginPeriod(
        chain index: Int, at moment: Timestamp, until end: Timestamp, isRenewal: Bool
    ) {
        let product = chains[index].renewal.nextProduct
        let offer = chains[index].renewal.nextOffer
        let storefront = accounts[Int(chains[index].account)].storefront
        if chains[index].renewal.priceIncrease == .accepted {
            chains[index].renewal.priceIncrease = .none
        }
        let ordinary = Catalogue.price(of: product, storefront: storefront, offer: offer)
        let increase = Int64(chains[index].renewal.priceIncreasePercent)
        var transaction = StoredTransaction(
            purchaseDate: moment, expiresDate: end, modifiedDate: moment,
            price: ordinary + ordinary * increase / 100, product: product, isRenewal: isRenewal,
            offer: offer)
        if Catalogue.products[Int(product)].isMonthlyCommitment {
            let before = chains[index].current?.commitmentPayment ?? 0
            transaction.commitmentPayment = isRenewal && before < 12 ? before + 1 : 1
        }
        chains[index].transactions.append(transaction)
        chains[index].phase = .active
        chains[index].renewal.renewalDate = end
        chains[index].renewal.nextOffer = 0
        chains[index].renewal.isInBillingRetry = false
        chains[index].renewal.gracePeriodExpiresDate = nil
        chains[index].renewal.expirationIntent = 0
    }
}
