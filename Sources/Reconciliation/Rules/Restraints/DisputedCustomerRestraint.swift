import Subscriptions

/// Nothing is inserted for an account whose held rows name different customers, or one of whose
/// rows carries another account's token: whose the new row would be is then anybody's guess.
struct DisputedCustomerRestraint: Restraint {
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        if reading.customers.count > 1 { return "rows of this account name different customers" }
        if reading.holdsForeignRow { return "a row of this account has another account's token" }
        return nil
    }
}
