extension Catalogue {
    /// The catalogue of an app without one of its own.
    static let standard: Catalogue = {
        /// Thousandths of the price in the United States, by storefront.
        let factors: [Int64] = [1000, 1000, 900, 150_000, 4000]
        func product(
            _ name: String, kind: Product.Kind = .autoRenewable, group: Int = -1, level: Int = 1,
            period: BillingPeriod = .months(1), price: Int64, isMonthlyCommitment: Bool = false
        ) -> Product {
            Product(
                id: "com.example.app." + name, kind: kind, group: group, level: level,
                period: period, prices: factors.map { price * $0 / 1000 },
                isMonthlyCommitment: isMonthlyCommitment)
        }
        return Catalogue(
            bundleID: SimulatedApp().bundleID, appAppleID: SimulatedApp().appAppleID,
            groups: ["21400001", "21400002", "21400003"],
            products: [
                product("video.premium.monthly", group: 0, level: 1, price: 14_990),
                product("video.basic.monthly", group: 0, level: 2, price: 7_990),
                product(
                    "video.premium.yearly", group: 0, level: 1, period: .months(12),
                    price: 149_990),
                product("news.monthly", group: 1, level: 1, price: 9_990),
                product("news.yearly", group: 1, level: 1, period: .months(12), price: 89_990),
                product("news.weekly", group: 1, level: 2, period: .days(7), price: 2_990),
                product("storage.large.monthly", group: 2, level: 1, price: 9_990),
                product("storage.small.monthly", group: 2, level: 2, price: 2_990),
                product(
                    "storage.commitment", group: 2, level: 1, price: 6_990,
                    isMonthlyCommitment: true),
                product("coins.100", kind: .consumable, price: 990),
                product("themes", kind: .nonConsumable, price: 4_990),
                product("season.pass", kind: .nonRenewing, period: .months(3), price: 19_990),
            ],
            storefronts: [
                Storefront(country: "USA", id: "143441", currency: "USD"),
                Storefront(country: "DEU", id: "143443", currency: "EUR"),
                Storefront(country: "GBR", id: "143444", currency: "GBP"),
                Storefront(country: "JPN", id: "143462", currency: "JPY"),
                Storefront(country: "BRA", id: "143503", currency: "BRL"),
            ],
            offers: [
                Offer(
                    name: "introductory_trial", kind: .introductory, identifier: nil,
                    discountType: "FREE_TRIAL", period: .days(7), percentCharged: 0),
                Offer(
                    name: "introductory_half_price", kind: .introductory, identifier: nil,
                    discountType: "PAY_AS_YOU_GO", period: nil, percentCharged: 50),
                Offer(
                    name: "promotional", kind: .promotional, identifier: "come.back.half.price",
                    discountType: "PAY_AS_YOU_GO", period: nil, percentCharged: 50),
                Offer(
                    name: "offer_code", kind: .offerCode, identifier: "SPRING",
                    discountType: "FREE_TRIAL", period: .months(1), percentCharged: 0),
                Offer(
                    name: "win_back", kind: .winBack, identifier: "winback.monthly",
                    discountType: "PAY_AS_YOU_GO", period: nil, percentCharged: 30),
            ])
    }()
}
