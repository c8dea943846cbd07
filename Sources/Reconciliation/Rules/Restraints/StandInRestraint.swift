import Subscriptions

/// A subscription is not inserted while a row stands under the id of a later transaction of it, or
/// under the id that it had before it was migrated: there would be two rows for one subscription.
///
/// Such a row is in no status answer under its own id. An earlier look at it, or Apple's complete
/// history of the customer, tells; a history that could not be read leaves it open, and then the
/// insert waits.
struct StandInRestraint: Restraint {
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        let item = reading.context.item
        if item.standIns[stated.originalTransactionID]?.isEmpty == false {
            return StandInReason.text
        }
        switch item.history {
        case .complete, nil: return nil
        case .since, .incomplete:
            return "whether a row stands under a later transaction's id of it was not learned"
        }
    }
}
