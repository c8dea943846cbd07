import Subscriptions

/// Nothing is inserted into a table of the company's whose mapping does not allow it.
struct InsertVeto: WriteVeto {
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        reading.context.policy.kept.takesInserts
            ? nil : "store.subscriptions.insert does not allow rows to be inserted"
    }
}
