/// What happens in a step of a scripted life.
enum ScriptedAction: Sendable {
    case buy(product: UInt16, offer: UInt8, label: String?)
    case cancel
    case reenable
    case upgrade(product: UInt16, offer: UInt8)
    case changeAtRenewal(product: UInt16)
    case billingFails
    case billingRecovers
    case refund(percent: UInt8, reason: UInt8, earlierPeriod: Int?)
    case refundReversed
    case refundDeclined
    case resubscribe(product: UInt16, offer: UInt8)
    case priceIncrease(percent: UInt8, needsConsent: Bool)
    case acceptPriceIncrease
    case extend(days: Int)
    case redeemOffer(UInt8)
    case withdraw
    case share(customer: String)
    case stopSharing
    case migrate(label: String?)
    case deleteAccount

    static let names = [
        "buy", "cancel", "reenable", "upgrade", "downgrade", "crossgrade", "billing_fails",
        "billing_recovers", "refund", "refund_reversed", "refund_declined", "resubscribe",
        "price_increase", "accept_price_increase", "extend", "redeem_offer", "withdraw",
        "share_with", "stop_sharing", "migrate", "delete_account",
    ]

    init(_ keys: StrictKeys) throws {
        let found = Self.names.filter(keys.names.contains)
        guard found.count == 1, let name = found.first else {
            throw SimulatorError.badOption(
                "a step must name exactly one thing that happens, of "
                    + Self.names.joined(separator: ", ") + ".")
        }
        let offer = try Self.offer(keys)
        switch name {
        case "buy":
            self = .buy(
                product: try Self.product(keys, name), offer: offer,
                label: try keys.value(String.self, "label"))
        case "cancel": self = .cancel
        case "reenable": self = .reenable
        case "upgrade": self = .upgrade(product: try Self.product(keys, name), offer: offer)
        case "downgrade", "crossgrade":
            self = .changeAtRenewal(product: try Self.product(keys, name))
        case "billing_fails": self = .billingFails
        case "billing_recovers": self = .billingRecovers
        case "refund":
            self = .refund(
                percent: try Self.percent(keys, name), reason: try Self.reason(keys),
                earlierPeriod: try keys.value(Int.self, "period"))
        case "refund_reversed": self = .refundReversed
        case "refund_declined": self = .refundDeclined
        case "resubscribe":
            self = .resubscribe(product: try Self.product(keys, name), offer: offer)
        case "price_increase":
            self = .priceIncrease(
                percent: try Self.percent(keys, name),
                needsConsent: try keys.value(Bool.self, "consent") ?? true)
        case "accept_price_increase": self = .acceptPriceIncrease
        case "extend":
            guard let days = try keys.value(Int.self, name), (1...90).contains(days) else {
                throw SimulatorError.badOption("\"extend\" is a number of days from 1 to 90.")
            }
            self = .extend(days: days)
        case "redeem_offer": self = .redeemOffer(try Self.offer(keys, named: name))
        case "withdraw": self = .withdraw
        case "share_with": self = .share(customer: try keys.value(String.self, name) ?? "")
        case "stop_sharing": self = .stopSharing
        case "migrate": self = .migrate(label: try keys.value(String.self, "label"))
        default: self = .deleteAccount
        }
    }

    /// A product by its id, with or without the bundle's prefix.
    private static func product(_ keys: StrictKeys, _ name: String) throws -> UInt16 {
        let text = try keys.value(String.self, name) ?? ""
        let found =
            Catalogue.product(named: text)
            ?? Catalogue.product(named: "com.example.app." + text)
        guard let found else {
            let known = Catalogue.products.map { $0.id.dropFirst("com.example.app.".count) }
            throw SimulatorError.badOption(
                "The product \"\(text)\" is unknown; known are \(known.joined(separator: ", ")).")
        }
        return found
    }

    private static let offerNames = [
        "none", "introductory_trial", "introductory_half_price", "promotional", "offer_code",
        "win_back",
    ]

    private static func offer(_ keys: StrictKeys, named name: String = "offer") throws -> UInt8 {
        guard keys.names.contains(name), let text = try keys.value(String.self, name) else {
            return 0
        }
        guard let index = offerNames.firstIndex(of: text) else {
            throw SimulatorError.badOption(
                "The offer \"\(text)\" is unknown; known are "
                    + offerNames.joined(separator: ", ") + ".")
        }
        return UInt8(index)
    }

    private static func percent(_ keys: StrictKeys, _ name: String) throws -> UInt8 {
        let value = try keys.value(Int.self, name) ?? 100
        guard (1...100).contains(value) else {
            throw SimulatorError.badOption("\"\(name)\" is a percentage from 1 to 100.")
        }
        return UInt8(value)
    }

    private static func reason(_ keys: StrictKeys) throws -> UInt8 {
        try keys.value(Int.self, "reason") == 1 ? 1 : 0
    }
}
