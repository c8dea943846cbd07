import Subscriptions

extension Lookup {
    /// The reason for which a lookup that came to nothing leaves a row undecided.
    ///
    /// `nil` where the lookup is a definite word of Apple's. A refusal that concerns this question
    /// alone says nothing about the subscription.
    var undecidedReason: UndecidedReason? {
        switch self {
        case .rateLimited: .rateLimited
        case .unavailable, .internalFault, .refused, .restart: .unavailable
        case .undecodable: .undecodable
        case .unverified(let rejected):
            rejected.isUndetermined ? .unavailable : .verificationFailed
        case .answered, .transactionNotFound, .accountNotFound, .invalidID: nil
        }
    }
}
