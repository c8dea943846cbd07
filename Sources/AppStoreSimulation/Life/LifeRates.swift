/// How often events happen in a population: probabilities per paid period, unless stated otherwise.
package struct LifeRates: Hashable, Sendable {
    /// The customer turns auto-renewal off.
    package var cancel = 0.05
    /// Of those: the customer turns it on again before the period ends.
    package var reenable = 0.2
    /// A charge fails at renewal.
    package var billingFailure = 0.07
    /// Of failures: recovered within the grace period.
    package var recoveryInGrace = 0.45
    /// Of the rest: recovered within the sixty days of billing retry.
    package var recoveryInRetry = 0.3
    /// The current period is refunded.
    package var refund = 0.012
    /// An earlier period is refunded, which does not end the subscription.
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
    /// Of ended subscriptions: bought again later under the same original id.
    package var resubscription = 0.25
    /// Of resubscriptions: with a win-back offer.
    package var winBack = 0.3
    /// Of subscriptions: shared with a family member.
    package var familySharing = 0.06
    /// Of family members, per period: stops sharing.
    package var familyLeaves = 0.04
    /// Of first purchases: for a group, with several seats.
    ///
    /// Of the other rates per period only those of cancellations and refunds concern a group.
    package var groupPurchase = 0.0
    /// Of groups, per period: the purchaser adds seats.
    package var seatsAdded = 0.12
    /// Of groups, per period: the next renewal has fewer seats.
    package var seatsRemoved = 0.06
    /// Of groups, per period: some seats are refunded.
    package var seatsRefunded = 0.08
    /// Of accounts: a one-time purchase next to the subscriptions.
    package var oneTimePurchase = 0.2
    /// Of one-time purchases: refunded, in full or in part.
    package var oneTimeRefund = 0.0
    /// Of notifications: late, after one to three failed attempts.
    package var lateDelivery = 0.01
    /// Of notifications: never delivered.
    package var lostDelivery = 0.0
    /// Of notifications: delivered twice, because the receiver's first answer is lost.
    package var repeatedDelivery = 0.0

    package init() {}
}

extension LifeRates {
    /// The names of the rates in scenario files.
    static var names: [(name: String, path: WritableKeyPath<LifeRates, Double>)] {
        [
            ("cancel", \.cancel), ("reenable", \.reenable), ("billing_failure", \.billingFailure),
            ("recovery_in_grace", \.recoveryInGrace), ("recovery_in_retry", \.recoveryInRetry),
            ("refund", \.refund), ("refund_of_earlier_period", \.refundOfEarlierPeriod),
            ("refund_reversal", \.refundReversal), ("refund_declined", \.refundDeclined),
            ("upgrade", \.upgrade), ("downgrade", \.downgrade), ("crossgrade", \.crossgrade),
            ("price_increase", \.priceIncrease),
            ("price_increase_refusal", \.priceIncreaseRefusal),
            ("renewal_extension", \.renewalExtension), ("product_withdrawn", \.productWithdrawn),
            ("offer_redeemed", \.offerRedeemed), ("introductory_offer", \.introductoryOffer),
            ("resubscription", \.resubscription), ("win_back", \.winBack),
            ("family_sharing", \.familySharing), ("family_leaves", \.familyLeaves),
            ("group_purchase", \.groupPurchase), ("seats_added", \.seatsAdded),
            ("seats_removed", \.seatsRemoved), ("seats_refunded", \.seatsRefunded),
            ("one_time_purchase", \.oneTimePurchase), ("one_time_refund", \.oneTimeRefund),
            ("late_delivery", \.lateDelivery),
            ("lost_delivery", \.lostDelivery), ("repeated_delivery", \.repeatedDelivery),
        ]
    }
}
