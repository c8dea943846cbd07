import Subscriptions

/// A subscription is not inserted for a customer when its signed account token belongs to another
/// account.
///
/// One Apple Account may pay for several accounts of the company. The customer's tokens are those
/// of our rows of the answer, and those that Apple signed for these rows. Tokens are UUIDs,
/// compared without regard to case; an absent token is no objection.
struct ForeignTokenVeto: WriteVeto {
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        guard let token = stated.transaction.appAccountToken?.lowercased() else { return nil }
        let known = reading.accountTokens
        guard !known.isEmpty, !known.contains(token) else { return nil }
        return "the signed account token names another account than the customer's rows"
    }
}
