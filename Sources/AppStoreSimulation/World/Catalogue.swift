/// What the simulated app sells, and in which storefronts; the same in every world.
package enum Catalogue {
    package static let groups = ["21400001", "21400002", "21400003"]

    package static let products: [Product] = [
        Product(id: "com.example.app.video.premium.monthly", group: 0, level: 1, price: 14_990),
        Product(id: "com.example.app.video.basic.monthly", group: 0, level: 2, price: 7_990),
        Product(
            id: "com.example.app.video.premium.yearly", group: 0, level: 1, period: .months(12),
            price: 149_990),
        Product(id: "com.example.app.news.monthly", group: 1, level: 1, price: 9_990),
        Product(
            id: "com.example.app.news.yearly", group: 1, level: 1, period: .months(12),
            price: 89_990),
        Product(
            id: "com.example.app.news.weekly", group: 1, level: 2, period: .days(7), price: 2_990),
        Product(
            id: "com.example.app.storage.large.monthly", group: 2, level: 1, price: 9_990),
        Product(id: "com.example.app.storage.small.monthly", group: 2, level: 2, price: 2_990),
        Product(
            id: "com.example.app.storage.commitment", group: 2, level: 1, price: 6_990,
            isMonthlyCommitment: true),
        Product(id: "com.example.app.coins.100", kind: .consumable, price: 990),
        Product(id: "com.example.app.themes", kind: .nonConsumable, price: 4_990),
        Product(
            id: "com.example.app.season.pass", kind: .nonRenewing, period: .months(3),
            price: 19_990),
    ]

    package static let storefronts: [Storefront] = [
        Storefront(country: "USA", id: "143441", currency: "USD", priceFactor: 1000),
        Storefront(country: "DEU", id: "143443", currency: "EUR", priceFactor: 1000),
        Storefront(country: "GBR", id: "143444", currency: "GBP", priceFactor: 900),
        Storefront(country: "JPN", id: "143462", currency: "JPY", priceFactor: 150_000),
        Storefront(country: "BRA", id: "143503", currency: "BRL", priceFactor: 4000),
    ]

    /// Index 0 means "no offer".
    package static let offers: [Offer] = [
        Offer(type: 0, identifier: nil, discountType: "", period: .months(1), percentCharged: 100),
        Offer(
            type: 1, identifier: nil, discountType: "FREE_TRIAL", period: .days(7),
            percentCharged: 0),
        Offer(
            type: 1, identifier: nil, discountType: "PAY_AS_YOU_GO", period: .months(1),
            percentCharged: 50),
        Offer(
            type: 2, identifier: "come.back.half.price", discountType: "PAY_AS_YOU_GO",
            period: .months(1), percentCharged: 50),
        Offer(
            type: 3, identifier: "SPRING", discountType: "FREE_TRIAL", period: .months(1),
            percentCharged: 0),
        Offer(
            type: 4, identifier: "winback.monthly", discountType: "PAY_AS_YOU_GO",
            period: .months(1), percentCharged: 30),
    ]

    /// The index of a product; `nil` for an unknown product id.
    package static func product(named id: String) -> UInt16? {
        products.firstIndex { $0.id == id }.map(UInt16.init)
    }

    /// The index of a product by its id, with or without the bundle's prefix.
    static func product(withShortName name: String) -> UInt16? {
        product(named: name) ?? product(named: "com.example.app." + name)
    }

    /// The index of an auto-renewable subscription; `nil` for another product id.
    static func subscription(named id: String) -> UInt16? {
        product(named: id).flatMap { products[Int($0)].kind == .autoRenewable ? $0 : nil }
    }

    /// The length of a period: the offer's for a free trial, otherwise the product's.
    static func period(of product: UInt16, offer: UInt8) -> BillingPeriod {
        offers[Int(offer)].isFreeTrial
            ? offers[Int(offer)].period : products[Int(product)].period
    }

    /// Price in milliunits of the storefront's currency.
    static func price(
        of product: UInt16, storefront: UInt8, offer: UInt8, increasePercent: UInt8
    ) -> Int64 {
        let base = products[Int(product)].price * storefronts[Int(storefront)].priceFactor / 1000
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
    /// Milliunits of US dollars; `Storefront.priceFactor` converts it.
    package let price: Int64
    /// A twelve-month commitment that is billed monthly.
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
    /// The length of a free trial; any other offer lasts one period of the product.
    let period: BillingPeriod
    /// Percent of the ordinary price that is charged.
    let percentCharged: Int64

    var isFreeTrial: Bool { discountType == "FREE_TRIAL" }
}
