/// Apple's status of an auto-renewable subscription, as its unsigned number.
///
/// Source: App Store Server API, `status`. A number that this version does not know is kept.
package struct SubscriptionStatus: Hashable, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    package static let active = SubscriptionStatus(rawValue: 1)
    package static let expired = SubscriptionStatus(rawValue: 2)
    package static let billingRetry = SubscriptionStatus(rawValue: 3)
    package static let billingGracePeriod = SubscriptionStatus(rawValue: 4)
    package static let revoked = SubscriptionStatus(rawValue: 5)

    package var isKnown: Bool { (1...5).contains(rawValue) }

    /// Whether the customer may use what was paid for: active, or in the billing grace period.
    package var isEntitling: Bool { self == .active || self == .billingGracePeriod }
}
