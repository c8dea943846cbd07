import Subscriptions

extension AllRules {
    /// `unknown_product`: Apple signs a product that the company's catalogue lacks.
    ///
    /// It grants nothing until the company lists it, so the customer pays for nothing. One finding for the
    /// current product, and one for another product that the subscription renews into. The row itself is
    /// right, so the finding changes no verdict. Without a catalogue every product is known.
    static let unknownProduct = RowRule("UnknownProductRule") { comparison in
        guard let catalogue = comparison.catalogue else { return [] }
        let stated = comparison.stated
        var fields: [SubscriptionField] = [.productID]
        let next = stated.renewal.autoRenewProductID
        if stated.renewal.autoRenewStatus == 1, next != stated.transaction.productID {
            fields.append(.autoRenewProductID)
        }
        return fields.compactMap { field in
            guard case .text(let product) = stated.value(of: field),
                catalogue.products[product] == nil
            else { return nil }
            return comparison.difference(
                .unknownProduct, .medium, in: field,
                cause: "the catalogue does not list the product", isCorrected: false)
        }
    }
}
