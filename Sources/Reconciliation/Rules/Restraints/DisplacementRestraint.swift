import Subscriptions

/// An old original id that comes back during billing retry never displaces a newer one.
///
/// Apple goes on charging for the old subscription for up to 60 days. A row inserted for it would be
/// the youngest row of the customer, and a service that takes the youngest for the valid one would
/// forget the subscription that the customer pays for.
struct DisplacementRestraint: Restraint {
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        guard reading.newerEntitling(than: stated) != nil else { return nil }
        return "old subscription in billing retry beside a newer one"
    }
}
