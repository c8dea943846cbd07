import Subscriptions

/// An old subscription in billing retry is not inserted beside a newer one that gives access.
///
/// Apple tries to charge for the old one for up to 60 days. A row inserted for it now would be the
/// customer's newest row, and a service that uses the newest row would lose the subscription that
/// the customer pays for.
struct DisplacementVeto: WriteVeto {
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        guard reading.newerEntitling(than: stated) != nil else { return nil }
        return "old subscription in billing retry beside a newer one"
    }
}
