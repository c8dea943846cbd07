import Subscriptions

/// What has happened to a purchase or is about to; a purchase can have several at once.
///
/// The raw values are the names in control calls.
package enum PurchaseLife: String, Hashable, Sendable, CaseIterable {
    case oneTime = "one_time"
    case trial
    case offer
    case cancelled
    case grace
    case billingRetry = "billing_retry"
    case recovered
    case expiredVoluntary = "expired_voluntary"
    case expiredBillingRetry = "expired_billing_retry"
    case expiredPriceIncrease = "expired_price_increase"
    case expiredNotForSale = "expired_not_for_sale"
    case resubscribed
    case refunded
    case refundProrated = "refund_prorated"
    case refundReversed = "refund_reversed"
    case refundDeclined = "refund_declined"
    case upgraded
    case changing
    case priceIncrease = "price_increase"
    case extended
    case shared
    case familyMember = "family_member"
    case commitment
    case migrated
    case deletedAccount = "deleted_account"

    /// The notification that tells of it, where the present state does not show it.
    fileprivate var event: NotificationEvent? {
        switch self {
        case .recovered: .didRenewBillingRecovery
        case .resubscribed: .subscribedResubscribe
        case .refundReversed: .refundReversed
        case .refundDeclined: .refundDeclined
        default: nil
        }
    }
}

/// The purchases about which certain notifications were sent.
struct ToldLives: Sendable {
    private var chains: [PurchaseLife: Set<Int32>] = [:]

    /// `lives`: those that are asked for; the others are not looked up.
    init(_ lives: [PurchaseLife], in world: borrowing World) {
        let events = lives.compactMap { life in life.event.map { (life, $0) } }
        guard !events.isEmpty else { return }
        for record in world.notifications where record.date <= world.now {
            for (life, event) in events where event == record.event {
                chains[life, default: []].insert(record.chain)
            }
        }
    }

    fileprivate func contains(_ life: PurchaseLife, chain: Int) -> Bool {
        chains[life]?.contains(Int32(chain)) ?? false
    }
}

extension World {
    /// Whether a purchase has a life.
    func has(_ life: PurchaseLife, chain index: Int, told: ToldLives) -> Bool {
        let chain = chains[index]
        let renewal = chain.renewal
        switch life {
        case .oneTime: return !chain.isSubscription
        case .trial: return isEntitled(chain) && currentOffer(chain).isFreeTrial
        case .offer:
            return isEntitled(chain) && (1..<100).contains(currentOffer(chain).percentCharged)
        case .cancelled: return isEntitled(chain) && !renewal.willRenew
        case .grace: return chain.phase == .grace
        case .billingRetry: return chain.phase == .billingRetry
        case .expiredVoluntary: return chain.phase == .expired && renewal.expirationIntent == 1
        case .expiredBillingRetry: return chain.phase == .expired && renewal.expirationIntent == 2
        case .expiredPriceIncrease: return chain.phase == .expired && renewal.expirationIntent == 3
        case .expiredNotForSale: return chain.phase == .expired && renewal.expirationIntent == 4
        case .refunded: return chain.transactions.contains { $0.revocation == .refundFull }
        case .refundProrated:
            return chain.transactions.contains { $0.revocation == .refundProrated }
        case .upgraded: return chain.transactions.contains(where: \.isUpgraded)
        case .changing:
            return isEntitled(chain) && renewal.nextProduct != chain.current?.product
        case .priceIncrease: return renewal.priceIncrease != .none
        case .extended: return chain.latestExtension != nil
        case .shared: return chain.firstFollower >= 0
        case .familyMember: return chain.isFamilyShared
        case .commitment: return (chain.current?.commitmentPayment ?? 0) > 0
        case .migrated: return chain.predecessor >= 0 || chain.isReplaced
        case .deletedAccount: return isDeleted(chain: index)
        case .recovered, .resubscribed, .refundReversed, .refundDeclined:
            return told.contains(life, chain: index)
        }
    }

    private func isEntitled(_ chain: PurchaseChain) -> Bool {
        chain.phase == .active || chain.phase == .grace
    }

    private func currentOffer(_ chain: PurchaseChain) -> Offer {
        catalogue.offers[Int(chain.current?.offer ?? 0)]
    }
}
