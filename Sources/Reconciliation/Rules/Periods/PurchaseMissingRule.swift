import Subscriptions

extension AllRules {
    /// `purchase_missing`: a one-time purchase that Apple signed and that the company does not store.
    ///
    /// Only where purchases of the app are stored. High while the purchase is not refunded.
    static let purchaseMissing = PurchaseRule("PurchaseMissingRule") { comparison in
        guard comparison.stored == nil, comparison.isComparable else { return nil }
        let signed = comparison.signed
        let isRefunded = signed.isWhollyRevoked
        var finding = comparison.finding(
            .purchaseMissing, isRefunded ? .medium : .high, cause: "purchase not recorded")
        finding.field = signed.transactionID
        finding.appleValue = .text(signed.transactionID)
        finding.changedAt = signed.purchaseDate
        finding.direction = isRefunded ? .neutral : .customerLoses
        return Difference(finding, payload: signed.evidence).stating(priceOf: signed)
    }
}
