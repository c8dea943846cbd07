/// Something that the simulated app sells.
package struct Product: Hashable, Sendable {
    /// Apple's names of the product types in transactions and in the history filter.
    package enum Kind: UInt8, Hashable, Sendable {
        case autoRenewable, nonRenewing, consumable, nonConsumable

        var transactionType: String {
            switch self {
            case .autoRenewable: "Auto-Renewable Subscription"
            case .nonRenewing: "Non-Renewing Subscription"
            case .consumable: "Consumable"
            case .nonConsumable: "Non-Consumable"
            }
        }

        var filterName: String {
            switch self {
            case .autoRenewable: "AUTO_RENEWABLE"
            case .nonRenewing: "NON_RENEWABLE"
            case .consumable: "CONSUMABLE"
            case .nonConsumable: "NON_CONSUMABLE"
            }
        }
    }

    package let id: String
    package let kind: Kind
    /// Index of the subscription group; -1 for one-time purchases.
    package let group: Int
    /// 1 is the highest level of service in the group.
    package let level: Int
    package let period: BillingPeriod
    /// Milliunits of US dollars; other storefronts multiply.
    package let price: Int64
    /// Twelve months' commitment, billed monthly.
    package let isMonthlyCommitment: Bool

    init(
        id: String, kind: Kind = .autoRenewable, group: Int = -1, level: Int = 1,
        period: BillingPeriod = .months(1), price: Int64, isMonthlyCommitment: Bool = false
    ) {
        self.id = id
        self.kind = kind
        self.group = group
        self.level = level
        self.period = period
        self.price = price
        self.isMonthlyCommitment = isMonthlyCommitment
    }
}

/// A country's App Store.
package struct Storefront: Hashable, Sendable {
    let country: String
    let id: String
    let currency: String
    /// Thousandths of the US price.
    let priceFactor: Int64
}

/// An offer that makes the next period cheaper or free.
package struct Offer: Hashable, Sendable {
    /// 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    let type: Int
    let identifier: String?
    let discountType: String
    /// Of a free trial; any other offer lasts one of the product's own periods.
    let period: BillingPeriod
    /// Percent of the ordinary price that is charged.
    let percentCharged: Int64

    var isFreeTrial: Bool { discountType == "FREE_TRIAL" }
}
