import Subscriptions

/// Nothing is inserted for an Apple Account whose rows name different customers, or of which a row
/// has another account's token: it is unknown to whom the new row would belong.
struct DisputedCustomerVeto: WriteVeto {
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        if reading.customers.count > 1 { return "rows of this account name different customers" }
        if reading.holdsForeignRow { return "a row of this account has another account's token" }
        return nil
    }
}
