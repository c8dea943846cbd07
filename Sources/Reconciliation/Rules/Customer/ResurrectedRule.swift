import Subscriptions

extension AllRules {
    /// `resurrected`: an old original id is in billing retry while a newer one gives access.
    ///
    /// Apple tries to charge for up to 60 days, and a late success revives the old subscription while
    /// the customer already pays for the newer one of the group. Access must not be ended because of
    /// the old id alone; `apple_value` is the newest entitling id. High, never corrected.
    static let resurrected = CustomerRule("ResurrectedRule") { reading in
        reading.comparable.compactMap { old in
            guard let newest = reading.newerEntitling(than: old) else { return nil }
            return reading.difference(
                .resurrected, .high, about: old, beside: newest.originalTransactionID,
                cause: "old subscription in billing retry")
        }
    }
}
