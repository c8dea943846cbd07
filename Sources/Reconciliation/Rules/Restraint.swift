import Subscriptions

/// A rule that holds back a write which another rule asks for: a guard of meaning.
///
/// It looks at one customer's whole answer. What it holds back stays a finding with the action
/// `refused` and the restraint's text as its cause, for a person to decide.
protocol Restraint: Sendable {
    /// Why a held row is left as it is; `nil` when nothing speaks against correcting it.
    func reason(toLeave comparison: Comparison, in reading: CustomerReading) -> String?

    /// Why a subscription that we do not hold is not inserted; `nil` when nothing speaks against it.
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String?
}

extension Restraint {
    func reason(toLeave comparison: Comparison, in reading: CustomerReading) -> String? { nil }

    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        nil
    }
}
