import Subscriptions

/// Access is never ended for one id while another live subscription of the customer entitles them.
///
/// A customer who subscribed again under a new original id has paid; a service that looks only at
/// the id it once stored would lock them out. Live is another subscription of the same group in the
/// same answer with status 1 or 4 whose transaction is neither revoked nor upgraded away. Nothing
/// at all is written to the row then: half of Apple's statement would be neither side's truth.
struct AccessContinuesRestraint: Restraint {
    func reason(toLeave comparison: Comparison, in reading: CustomerReading) -> String? {
        guard comparison.ourStatus?.isEntitling == true,
            !comparison.stated.status.isEntitling,
            reading.comparable.contains(where: { $0.givesAccess(instead: comparison.stated) })
        else { return nil }
        return "another subscription of the customer in the group gives access"
    }
}

extension StatedSubscription {
    fileprivate func givesAccess(instead ended: StatedSubscription) -> Bool {
        originalTransactionID != ended.originalTransactionID && group == ended.group
            && status.isEntitling && transaction.revocationDate == nil && !transaction.isUpgraded
    }
}
