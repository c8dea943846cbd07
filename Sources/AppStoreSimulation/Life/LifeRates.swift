/// How often things happen in a population; each is a probability per paid period unless said.
package struct LifeRates: Hashable, Sendable {
    /// The customer turns auto-renewal off.
    package var cancel = 0.05
    /// Of those, the share that turns it on again before the end.
    package var reenable = 0.2
    /// A charge fails at renewal.
    package var billingFailure = 0.07
    /// Of failures: recovered within the grace period.
    package var recoveryInGrace = 0.45
    /// Of the rest: recovered within the sixty days.
    package var recoveryInRetry = 0.3
    /// The current period is refunded.
    package var refund = 0.012
    /// An earlier period is refunded, which ends nothing.
    package var refundOfEarlierPeriod = 0.006
    /// Of refunds of the current period: reversed later.
    package var refundReversal = 0.3
    package var refundDeclined = 0.004
    package var upgrade = 0.015
    package var downgrade = 0.015
    package var crossgrade = 0.01
    package var priceIncrease = 0.006
    /// Of price increases: the customer does not consent and the subscription ends.
    package var priceIncreaseRefusal = 0.3
    package var renewalExtension = 0.004
    package var productWithdrawn = 0.001
    package var offerRedeemed = 0.006
    /// Of first purchases: with an introductory offer.
    package var introductoryOffer = 0.3
    /// Of ended subscriptions: bought again later, under the same original id.
    package var resubscription = 0.25
    /// Of resubscriptions: by a win-back offer.
    package var winBack = 0.3
    /// Of subscriptions: shared with a family member.
    package var familySharing = 0.06
    /// Of family members, per period: stops sharing.
    package var familyLeaves = 0.04
    /// Of accounts: a one-time purchase beside the subscriptions.
    package var oneTimePurchase = 0.2
    /// Of notifications: late, after one to three failed attempts.
    package var lateDelivery = 0.01
    /// Of notifications: never delivered.
    package var lostDelivery = 0.0

    package init() {}
}
