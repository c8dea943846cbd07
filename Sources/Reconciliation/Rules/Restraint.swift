import Subscriptions

/// A rule that holds back an insert which `missing_locally` asks for: a guard of meaning.
///
/// It looks at one customer's whole answer. What it holds back stays a finding with the action
/// `refused` and the restraint's text as its cause, for a person to decide.
protocol Restraint: Sendable {
    /// Why a subscription that we do not hold is not inserted; `nil` when nothing speaks against it.
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String?
}
