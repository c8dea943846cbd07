import Subscriptions

/// A subscription is not inserted while a row is stored under the id of one of its later
/// transactions, or under its id before a migration: there would be two rows for one subscription.
///
/// A status answer does not show such a row's id. An earlier run may have found it; otherwise
/// Apple's complete history of the customer says it. While that cannot be read, the insert waits.
struct StandInVeto: WriteVeto {
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        let item = reading.context.item
        if item.standIns[stated.originalTransactionID]?.isEmpty == false {
            return VetoCause.standIn
        }
        switch item.history {
        case .complete, nil: return nil
        case .since, .incomplete:
            return "whether a row stands under a later transaction's id of it was not learned"
        }
    }
}
