import Subscriptions

/// What the simulated app sells, and in which storefronts; the same in both environments.
package final class Catalogue: Sendable {
    let bundleID: String
    let appAppleID: Int64
    /// Grace period that the app chose: 3, 16 or 28 days, or 0 for none.
    let graceDays: Int
    /// Whether a free trial that cannot be paid on has no grace period.
    let hasGraceForPaidRenewalsOnly: Bool
    /// The identifiers of the subscription groups.
    let groups: [String]
    let products: [Product]
    let storefronts: [Storefront]
    /// Index 0 means "no offer".
    let offers: [Offer]
    /// Indexes of the products that are not auto-renewable.
    let oneTimeProducts: [UInt16]

    /// `offers`: without the one that means "no offer".
    init(
        bundleID: String, appAppleID: Int64, graceDays: Int = 16,
        hasGraceForPaidRenewalsOnly: Bool = false, groups: [String], products: [Product],
        storefronts: [Storefront], offers: [Offer]
    ) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.graceDays = graceDays
        self.hasGraceForPaidRenewalsOnly = hasGraceForPaidRenewalsOnly
        self.groups = groups
        self.products = products
        self.storefronts = storefronts
        self.offers = [Offer.none] + offers
        oneTimeProducts = products.indices.filter { products[$0].kind != .autoRenewable }
            .map(UInt16.init)
    }

    /// The index of a product; `nil` for an unknown product id.
    func product(named id: String) -> UInt16? {
        products.firstIndex { $0.id == id }.map(UInt16.init)
    }

    /// The index of a product by its id, with or without the bundle's prefix.
    func product(withShortName name: String) -> UInt16? {
        product(named: name) ?? product(named: bundleID + "." + name)
    }

    /// The ids of the products, without the bundle's prefix.
    var shortNames: [String] {
        products.map { product in
            product.id.hasPrefix(bundleID + ".")
                ? String(product.id.dropFirst(bundleID.count + 1)) : product.id
        }
    }

    /// The index of an auto-renewable subscription; `nil` for another product id.
    func subscription(named id: String) -> UInt16? {
        product(named: id).flatMap { products[Int($0)].kind == .autoRenewable ? $0 : nil }
    }

    /// The index of an offer; `nil` for an unknown name.
    func offer(named name: String) -> UInt8? {
        offers.firstIndex { $0.name == name }.map(UInt8.init)
    }

    /// The indexes of the offers of a type.
    func offers(ofType type: Offer.Kind) -> [UInt8] {
        offers.indices.filter { offers[$0].kind == type }.map(UInt8.init)
    }

    /// The length of a period: the offer's own, otherwise the product's.
    func period(of product: UInt16, offer: UInt8) -> BillingPeriod {
        offers[Int(offer)].period ?? products[Int(product)].period
    }

    /// Price in milliunits of the storefront's currency.
    func price(
        of product: UInt16, storefront: UInt8, offer: UInt8, increasePercent: UInt8
    ) -> Int64 {
        let base = products[Int(product)].prices[Int(storefront)]
        let ordinary = base * offers[Int(offer)].percentCharged / 100
        return ordinary + ordinary * Int64(increasePercent) / 100
    }
}

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
    /// Milliunits of the currency, by storefront.
    package let prices: [Int64]
    /// A twelve-month commitment that is billed monthly.
    package let isMonthlyCommitment: Bool

    init(
        id: String, kind: Kind = .autoRenewable, group: Int = -1, level: Int = 1,
        period: BillingPeriod = .months(1), prices: [Int64], isMonthlyCommitment: Bool = false
    ) {
        self.id = id
        self.kind = kind
        self.group = group
        self.level = level
        self.period = period
        self.prices = prices
        self.isMonthlyCommitment = isMonthlyCommitment
    }
}

/// A country's App Store.
package struct Storefront: Hashable, Sendable {
    let country: String
    let id: String
    let currency: String
}

/// An offer that makes the next period cheaper or free.
package struct Offer: Hashable, Sendable {
    /// Apple's `offerType`; 0 for "no offer".
    enum Kind: Int, Sendable {
        case none, introductory, promotional, offerCode, winBack
    }

    /// The name in scenarios.
    let name: String
    let kind: Kind
    let identifier: String?
    /// Apple's `offerDiscountType`.
    let discountType: String
    /// The length of the one period that a free trial or an advance payment covers; `nil` for an offer
    /// that lasts one period of the product.
    let period: BillingPeriod?
    /// Percent of the ordinary price that is charged.
    let percentCharged: Int64

    var isFreeTrial: Bool { discountType == "FREE_TRIAL" }

    static let none = Offer(
        name: "none", kind: .none, identifier: nil, discountType: "", period: nil,
        percentCharged: 100)
}
