import Yams

/// A catalogue file: what the app sells, where, and at which prices.
///
/// Source of the file format: `docs/simulator.md`.
struct CatalogueText: Decodable {
    private let catalogue: Catalogue

    /// Reads a catalogue.
    static func read(_ text: String) throws(SimulatorError) -> Catalogue {
        do {
            return try YAMLDecoder().decode(CatalogueText.self, from: text).catalogue
        } catch {
            throw .badOption(
                "The catalogue cannot be read: \(SimulatorError.sentence(of: error, in: text))")
        }
    }

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(
            decoder,
            allowed: [
                "bundle_id", "app_apple_id", "grace_days", "grace_for", "storefronts", "groups",
                "products", "offers",
            ])
        let graceDays = try keys.value(Int.self, "grace_days") ?? 16
        guard [0, 3, 16, 28].contains(graceDays) else {
            throw keys.refused("\"grace_days\" is 3, 16, 28, or 0 for none.", at: "grace_days")
        }
        let graceFor = try keys.value(String.self, "grace_for") ?? "all"
        guard ["all", "paid_renewals"].contains(graceFor) else {
            throw keys.refused("\"grace_for\" is all or paid_renewals.", at: "grace_for")
        }
        let storefronts =
            try keys.value([StorefrontText].self, "storefronts")?.map(\.storefront)
            ?? Catalogue.standard.storefronts
        guard !storefronts.isEmpty, storefronts.count <= UInt8.max else {
            throw keys.refused("an app is sold in 1 to 255 storefronts.", at: "storefronts")
        }
        let groups = try keys.value([GroupText].self, "groups") ?? []
        var products: [Product] = []
        for (index, group) in groups.enumerated() {
            products += try group.products.map { try $0.product(group: index, storefronts) }
        }
        products += try (keys.value([ProductText].self, "products") ?? []).map {
            try $0.product(group: -1, storefronts)
        }
        guard !products.isEmpty, products.count <= 1000 else {
            throw keys.refused("a catalogue has 1 to 1000 products.")
        }
        let offers = try keys.value([OfferText].self, "offers")?.map(\.offer)
        guard (offers ?? []).count <= 100 else {
            throw keys.refused("a catalogue has at most 100 offers.", at: "offers")
        }
        for (what, names) in [
            ("storefront", storefronts.map(\.country)), ("group", groups.map(\.id)),
            ("product", products.map(\.id)), ("offer", (offers ?? []).map(\.name)),
        ] {
            let repeated = Dictionary(grouping: names) { $0 }.filter { $0.value.count > 1 }
            if let name = repeated.keys.min() {
                throw keys.refused("the \(what) \"\(name)\" is there twice.", at: "\(what)s")
            }
        }
        catalogue = Catalogue(
            bundleID: try keys.text("bundle_id"), appAppleID: try Self.appAppleID(keys),
            graceDays: graceDays, hasGraceForPaidRenewalsOnly: graceFor == "paid_renewals",
            groups: groups.map(\.id), products: products, storefronts: storefronts,
            offers: offers ?? [])
    }

    private static func appAppleID(_ keys: StrictKeys) throws -> Int64 {
        guard let id = try keys.number("app_apple_id", in: 1...Int64.max) else {
            throw keys.refused("it lacks its \"app_apple_id\".")
        }
        return id
    }
}

/// A storefront of a catalogue file.
private struct StorefrontText: Decodable {
    let storefront: Storefront

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(decoder, allowed: ["country", "id", "currency"])
        storefront = Storefront(
            country: try keys.code("country"), id: try keys.text("id"),
            currency: try keys.code("currency"))
    }
}

/// A subscription group of a catalogue file.
private struct GroupText: Decodable {
    let id: String
    let products: [ProductText]

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(decoder, allowed: ["id", "products"])
        id = try keys.text("id")
        products = try keys.value([ProductText].self, "products") ?? []
        guard !products.isEmpty, products.allSatisfy({ $0.kind == .autoRenewable }) else {
            throw keys.refused("a group has products, which have no \"kind\".", at: "products")
        }
    }
}

/// A product of a catalogue file.
private struct ProductText: Decodable {
    private static let kinds: [String: Product.Kind] = [
        "consumable": .consumable, "non_consumable": .nonConsumable,
        "non_renewing": .nonRenewing,
    ]

    let kind: Product.Kind
    private let keys: StrictKeys
    private let id: String
    private let level: Int
    private let period: BillingPeriod?
    private let prices: [String: Double]
    private let isCommitment: Bool

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(
            decoder, allowed: ["id", "kind", "level", "period", "prices", "commitment"])
        self.keys = keys
        id = try keys.text("id")
        let name = try keys.value(String.self, "kind")
        guard let kind = name.map({ Self.kinds[$0] }) ?? .autoRenewable else {
            throw keys.refused(
                "\"kind\" is one of \(Self.kinds.keys.sorted().joined(separator: ", ")), "
                    + "not \"\(name ?? "")\".",
                at: "kind")
        }
        self.kind = kind
        level = try keys.number("level", in: 1...100) ?? 1
        period = try keys.period()
        prices = try keys.value([String: Double].self, "prices") ?? [:]
        isCommitment = try keys.value(Bool.self, "commitment") ?? false
        let hasPeriod = kind == .autoRenewable || kind == .nonRenewing
        guard (period != nil) == hasPeriod else {
            throw keys.refused(
                "\"period\" belongs to subscriptions, and each of them has one.", at: "period")
        }
        if kind != .autoRenewable, keys.names.contains("level") || isCommitment {
            throw keys.refused("\"level\" and \"commitment\" belong to products of a group.")
        }
        if isCommitment, period != .months(1) {
            throw keys.refused(
                "a commitment of twelve months is billed monthly: its \"period\" is P1M.",
                at: "period")
        }
    }

    /// The product with its price in each storefront.
    func product(group: Int, _ storefronts: [Storefront]) throws -> Product {
        guard group >= 0 || kind != .autoRenewable else {
            throw keys.refused("\"\(id)\" needs a \"kind\", or belongs in a group.")
        }
        if let foreign = prices.keys.sorted().first(where: { country in
            !storefronts.contains { $0.country == country }
        }) {
            throw keys.refused("there is no storefront \"\(foreign)\".", at: "prices")
        }
        return Product(
            id: id, kind: kind, group: group, level: level, period: period ?? .months(1),
            prices: try storefronts.map { storefront in
                guard let price = prices[storefront.country], (0...1e9).contains(price) else {
                    throw keys.refused(
                        "\"\(id)\" has no price of 0 to 1000000000 in \(storefront.country).",
                        at: "prices")
                }
                return Int64((price * 1000).rounded())
            }, isMonthlyCommitment: isCommitment)
    }
}

/// An offer of a catalogue file.
private struct OfferText: Decodable {
    private static let kinds: [String: Offer.Kind] = [
        "introductory": .introductory, "promotional": .promotional, "offer_code": .offerCode,
        "win_back": .winBack,
    ]

    let offer: Offer

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(
            decoder, allowed: ["name", "type", "id", "mode", "period", "percent"])
        let name = try keys.text("name")
        guard let kind = Self.kinds[try keys.text("type")] else {
            throw keys.refused(
                "\"type\" is one of \(Self.kinds.keys.sorted().joined(separator: ", ")).",
                at: "type")
        }
        let identifier = try keys.value(String.self, "id")
        guard (identifier == nil) == (kind == .introductory), name != Offer.none.name else {
            throw keys.refused("every offer but an introductory one has an \"id\".", at: "id")
        }
        let mode = try keys.text("mode")
        guard ["free_trial", "pay_as_you_go", "pay_up_front"].contains(mode) else {
            throw keys.refused(
                "\"mode\" is free_trial, pay_as_you_go or pay_up_front.", at: "mode")
        }
        let period = try keys.period()
        let percent = try keys.number("percent", in: 1...99)
        guard (period != nil) == (mode != "pay_as_you_go") else {
            throw keys.refused(
                "\"period\" belongs to a free trial and to paying up front; paying as one goes "
                    + "lasts one period of the product.", at: "period")
        }
        guard (percent != nil) == (mode != "free_trial") else {
            throw keys.refused(
                "\"percent\" of the product's price belongs to every offer but a free trial.",
                at: "percent")
        }
        offer = Offer(
            name: name, kind: kind, identifier: identifier, discountType: mode.uppercased(),
            period: period, percentCharged: Int64(percent ?? 0))
    }
}

extension StrictKeys {
    /// A text that must be there.
    fileprivate func text(_ name: String) throws -> String {
        guard let text = try value(String.self, name), !text.isEmpty else {
            throw refused("it lacks its \"\(name)\".")
        }
        return text
    }

    /// A code of three capital letters: a country (ISO 3166-1) or a currency (ISO 4217).
    fileprivate func code(_ name: String) throws -> String {
        let code = try text(name)
        guard code.utf8.count == 3, code.utf8.allSatisfy({ (65...90).contains($0) }) else {
            throw refused("\"\(name)\" is a code of three capital letters.", at: name)
        }
        return code
    }

    fileprivate func period() throws -> BillingPeriod? {
        guard let text = try value(String.self, "period") else { return nil }
        guard let period = BillingPeriod(iso8601: text) else {
            throw refused(
                "\"period\" is a duration such as P1W, P3D, P6M or P1Y, not \"\(text)\".",
                at: "period")
        }
        return period
    }
}
