import Subscriptions

extension StatedSubscription {
    /// The group as signed; the unsigned one around it where the payload names none.
    var group: String { transaction.subscriptionGroupID ?? subscriptionGroupID }

    /// Whether the customer pays for it, as opposed to a member of the family.
    var isPurchased: Bool { transaction.inAppOwnershipType == "PURCHASED" }
}
