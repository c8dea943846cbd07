/// What the simulated app sells, and where: the same in every world.
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

    /// Index 0 stands for "no offer".
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

    /// The index of a product; `nil` for a name that is not sold.
    package static func product(named id: String) -> UInt16? {
        products.firstIndex { $0.id == id }.map(UInt16.init)
    }

    /// How long a period lasts: a free trial as long as the offer says, else as the product does.
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
