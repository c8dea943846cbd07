/// What happens in a step of a scenario.
enum ScriptedAction: Sendable {
    case buy(product: UInt16, offer: UInt8, label: String?, seats: BoughtSeats?)
    case cancel
    case reenable
    case upgrade(product: UInt16, offer: UInt8)
    case downgrade(product: UInt16)
    case crossgrade(product: UInt16)
    case billingFails
    case billingRecovers
    case refund(percent: UInt8, reason: UInt8, period: Int?)
    case refundReversed(period: Int?)
    case refundDeclined
    case resubscribe(product: UInt16, offer: UInt8)
    case priceIncrease(percent: UInt8, needsConsent: Bool)
    case acceptPriceIncrease
    case extend(days: Int)
    case redeemOffer(UInt8)
    case withdraw
    case finish
    case share(customer: String)
    case stopSharing
    case migrate(label: String?)
    case deleteAccount
    /// An external purchase token is created, still active, or unreported.
    case externalPurchaseToken(NotificationEvent)
    case rescindConsent
    case addSeats(Int)
    case removeSeats(Int)
    case refundSeats(Int, period: Int?)
    case claimSeats(Int)
    case releaseSeats(Int)

    /// A purchase for a group.
    struct BoughtSeats: Sendable {
        let count: Int
        let invitations: GroupSeats.Invitations
    }

    static let names = [
        "buy", "cancel", "reenable", "upgrade", "downgrade", "crossgrade", "billing_fails",
        "billing_recovers", "refund", "refund_reversed", "refund_declined", "resubscribe",
        "price_increase", "accept_price_increase", "extend", "redeem_offer", "withdraw", "finish",
        "share_with", "stop_sharing", "migrate", "delete_account",
        "external_purchase_token", "rescind_consent", "add_seats", "remove_seats",
        "refund_seats", "claim_seats", "release_seats",
    ]

    /// The further keys that an action takes.
    private static let parametersByName: [String: [String]] = [
        "buy": ["offer", "label", "seats", "invitations"], "refund_seats": ["period"],
        "upgrade": ["offer"], "resubscribe": ["offer"],
        "refund": ["reason", "period"], "refund_reversed": ["period"],
        "price_increase": ["consent"], "migrate": ["label"],
    ]

    static let parameters = Array(Set(parametersByName.values.joined())).sorted()

    /// Whether it concerns an earlier purchase.
    var concernsPurchase: Bool {
        switch self {
        case .buy, .deleteAccount, .externalPurchaseToken, .rescindConsent: false
        default: true
        }
    }

    /// Reads the action that an object names; keys of other actions are refused.
    init(_ keys: StrictKeys) throws {
        let found = Self.names.filter(keys.names.contains)
        guard found.count == 1, let name = found.first else {
            throw keys.refused(
                "a step must name exactly one thing that happens, of "
                    + Self.names.joined(separator: ", ") + ".")
        }
        try self.init(named: name, keys)
    }

    /// Reads the action with this name; a value that can only be `true` may be missing.
    init(named name: String, _ keys: StrictKeys) throws {
        let mine = Self.parametersByName[name] ?? []
        if let foreign = keys.names.first(where: {
            Self.parameters.contains($0) && !mine.contains($0)
        }) {
            throw keys.refused("\"\(foreign)\" does not belong to \"\(name)\".", at: foreign)
        }
        switch name {
        case "buy":
            self = .buy(
                product: try Self.product(keys, name), offer: try Self.offer(keys),
                label: try keys.value(String.self, "label"), seats: try Self.seats(keys))
        case "add_seats": self = .addSeats(try Self.count(keys, name))
        case "remove_seats": self = .removeSeats(try Self.count(keys, name))
        case "refund_seats":
            self = .refundSeats(
                try Self.count(keys, name), period: try keys.number("period", in: 0...4095))
        case "claim_seats": self = .claimSeats(try Self.count(keys, name))
        case "release_seats": self = .releaseSeats(try Self.count(keys, name))
        case "upgrade":
            self = .upgrade(product: try Self.product(keys, name), offer: try Self.offer(keys))
        case "downgrade": self = .downgrade(product: try Self.product(keys, name))
        case "crossgrade": self = .crossgrade(product: try Self.product(keys, name))
        case "refund":
            self = .refund(
                percent: try Self.percent(keys, name),
                reason: try keys.number("reason", in: 0...1).map(UInt8.init) ?? 0,
                period: try keys.number("period", in: 0...4095))
        case "resubscribe":
            self = .resubscribe(product: try Self.product(keys, name), offer: try Self.offer(keys))
        case "price_increase":
            self = .priceIncrease(
                percent: try Self.percent(keys, name),
                needsConsent: try keys.value(Bool.self, "consent") ?? true)
        case "extend":
            guard let days = try keys.value(Int.self, name), (1...90).contains(days) else {
                throw keys.refused("\"extend\" is a number of days from 1 to 90.", at: name)
            }
            self = .extend(days: days)
        case "redeem_offer":
            let offer = try Self.offer(keys, named: name)
            guard offer > 0 else {
                throw keys.refused("\"redeem_offer\" names an offer.", at: name)
            }
            self = .redeemOffer(offer)
        case "share_with":
            guard let customer = try? keys.value(String.self, name), !customer.isEmpty else {
                throw keys.refused("\"share_with\" names another customer.", at: name)
            }
            self = .share(customer: customer)
        case "external_purchase_token":
            let subtype = try keys.value(String.self, name)
            let events: [NotificationEvent] = [
                .externalPurchaseTokenCreated, .externalPurchaseTokenReminder,
                .externalPurchaseTokenUnreported,
            ]
            guard let event = events.first(where: { $0.subtype == subtype }) else {
                throw keys.refused(
                    "\"\(name)\" is one of CREATED, ACTIVE_TOKEN_REMINDER, UNREPORTED.", at: name)
            }
            self = .externalPurchaseToken(event)
        default:
            if keys.names.contains(name) { try keys.requireTrue(name) }
            self = try Self.plain(name, keys)
        }
    }

    /// The actions whose value is `true`.
    private static func plain(_ name: String, _ keys: StrictKeys) throws -> ScriptedAction {
        switch name {
        case "cancel": .cancel
        case "reenable": .reenable
        case "billing_fails": .billingFails
        case "billing_recovers": .billingRecovers
        case "refund_reversed":
            .refundReversed(period: try keys.number("period", in: 0...4095))
        case "refund_declined": .refundDeclined
        case "accept_price_increase": .acceptPriceIncrease
        case "withdraw": .withdraw
        case "finish": .finish
        case "stop_sharing": .stopSharing
        case "migrate": .migrate(label: try keys.value(String.self, "label"))
        case "delete_account": .deleteAccount
        case "rescind_consent": .rescindConsent
        default: throw keys.refused("the step \"\(name)\" is unknown.")
        }
    }

    /// A product by its id, with or without the bundle's prefix.
    private static func product(_ keys: StrictKeys, _ name: String) throws -> UInt16 {
        let text = try keys.value(String.self, name) ?? ""
        guard let found = keys.catalogue.product(withShortName: text) else {
            let known = keys.catalogue.shortNames.joined(separator: ", ")
            throw keys.refused(
                "The product \"\(text)\" is unknown; known are \(known).", at: name)
        }
        return found
    }

    private static func offer(_ keys: StrictKeys, named name: String = "offer") throws -> UInt8 {
        guard keys.names.contains(name), let text = try keys.value(String.self, name) else {
            return 0
        }
        guard let offer = keys.catalogue.offer(named: text) else {
            throw keys.refused(
                "The offer \"\(text)\" is unknown; known are "
                    + keys.catalogue.offers.map(\.name).joined(separator: ", ") + ".", at: name)
        }
        return offer
    }

    /// The seats of a purchase; `nil` without a subscription for a group.
    private static func seats(_ keys: StrictKeys) throws -> BoughtSeats? {
        let text = try keys.value(String.self, "invitations")
        guard let seats = try keys.number("seats", in: 1...1000) else {
            guard text == nil else {
                throw keys.refused("\"invitations\" needs \"seats\".", at: "invitations")
            }
            return nil
        }
        guard
            let invitations = GroupSeats.Invitations(
                rawValue: (text ?? "developer").uppercased())
        else {
            throw keys.refused(
                "\"invitations\" is one of developer, apple.", at: "invitations")
        }
        return BoughtSeats(count: seats, invitations: invitations)
    }

    private static func count(_ keys: StrictKeys, _ name: String) throws -> Int {
        guard let seats = try keys.value(Int.self, name), (1...1000).contains(seats) else {
            throw keys.refused("\"\(name)\" is a number of seats from 1 to 1000.", at: name)
        }
        return seats
    }

    private static func percent(_ keys: StrictKeys, _ name: String) throws -> UInt8 {
        guard let value = try keys.value(Int.self, name), (1...100).contains(value) else {
            throw keys.refused("\"\(name)\" is a percentage from 1 to 100.", at: name)
        }
        return UInt8(value)
    }
}
