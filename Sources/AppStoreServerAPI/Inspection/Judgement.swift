package import Subscriptions

/// The verdict of `inspect` on one payload or on a whole text, with its reason.
package struct Judgement: Hashable, Sendable {
    /// `nil` when valid.
    private let failure: VerificationFailure?

    package static let valid = Judgement(nil)

    package static func failed(_ reason: VerificationFailure.Reason, _ detail: String) -> Judgement
    {
        Judgement(VerificationFailure(reason: reason, detail: detail))
    }

    init(_ failure: VerificationFailure?) {
        self.failure = failure
    }

    package var verdict: VerificationVerdict { failure?.verdict ?? .valid }

    /// `nil` when valid.
    package var reason: VerificationFailure.Reason? { failure?.reason }

    /// A sentence for a person; `nil` when valid.
    package var detail: String? { failure?.detail }

    /// The worst of several; of equally bad ones the first.
    package static func worst(of judgements: some Sequence<Judgement>) -> Judgement {
        judgements.reduce(.valid) { $1.rank > $0.rank ? $1 : $0 }
    }

    private var rank: Int {
        switch verdict {
        case .valid: 0
        case .undetermined: 1
        case .invalid: 2
        }
    }
}
