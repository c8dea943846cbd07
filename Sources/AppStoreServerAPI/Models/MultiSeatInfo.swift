import JSONWebSignature

/// The seats of a transaction, as far as decisions and sums need them.
///
/// Most members of the object are not documented yet, so it is read by name, and what is not of the
/// expected form counts as absent. Source: App Store Server API 1.23, TransactionMultiSeatInfo.
struct MultiSeatInfo {
    /// Seats that were refunded while others of the same transaction remain.
    let revokedSeatQuantity: Int64?
    /// The price of all seats together, in milliunits; `nil` where no price tiers are stated or
    /// their sum cannot be a price.
    let price: Int64?

    init(_ object: JSONValue) {
        var members = JSONMembers(object)
        revokedSeatQuantity = members?.take("revokedSeatQuantity")?.integer.flatMap {
            $0 >= 0 ? $0 : nil
        }
        price = Self.sum(of: members?.take("priceTiers")?.elements ?? [])
    }

    /// The sum of price times quantity over the tiers.
    private static func sum(of tiers: [JSONValue]) -> Int64? {
        guard !tiers.isEmpty else { return nil }
        var sum: Int64 = 0
        for tier in tiers {
            var members = JSONMembers(tier)
            guard let price = members?.take("price")?.integer,
                let quantity = members?.take("quantity")?.integer,
                let cost = product(of: price, and: quantity)
            else { return nil }
            let (next, overflow) = sum.addingReportingOverflow(cost)
            guard !overflow else { return nil }
            sum = next
        }
        return sum
    }

    /// `nil` where the product cannot be held.
    static func product(of price: Int64, and quantity: Int64) -> Int64? {
        let (product, overflow) = price.multipliedReportingOverflow(by: quantity)
        return overflow ? nil : product
    }
}
