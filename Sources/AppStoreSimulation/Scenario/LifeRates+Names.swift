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
            ("one_time_purchase", \.oneTimePurchase), ("late_delivery", \.lateDelivery),
            ("lost_delivery", \.lostDelivery),
        ]
    }
}
