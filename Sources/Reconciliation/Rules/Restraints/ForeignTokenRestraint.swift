import Subscriptions

/// A subscription whose signed account token names another account than the customer's is not
/// inserted for that customer.
///
/// One Apple Account may pay for several accounts of the company's. The customer's tokens are those
/// of the rows that we hold of the answer, and those that Apple signed for these. Tokens are UUIDs,
/// compared without regard to case; an absent token contradicts nothing.
struct ForeignTokenRestraint: Restraint {
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        guard let token = stated.transaction.appAccountToken?.lowercased() else { return nil }
        let known = reading.accountTokens
        guard !known.isEmpty, !known.contains(token) else { return nil }
        return "the signed account token names another account than the customer's rows"
    }
}
