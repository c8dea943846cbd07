package import Subscriptions

/// A verdict with its reason, as `inspect` gives it.
package struct Judgement: Hashable, Sendable {
    package enum Reason: String, Hashable, Sendable, CaseIterable {
        case format
        case chainLength = "chain_length"
        case certificate, chain, signature, app, environment
        /// Parts that hold by themselves name different subscriptions.
        case crossCheck = "cross_check"
        /// The text is not the one whose SHA-256 stands beside it.
        case digest
        /// Whether a certificate was revoked could not be learned.
        case revocation
        /// There is nothing signed that could be judged.
        case nothingSigned = "nothing_signed"
    }

    package var verdict: VerificationVerdict
    /// `nil` when valid.
    package var reason: Reason?
    /// A sentence for a person; `nil` when valid.
    package var detail: String?

    package static let valid = Judgement(verdict: .valid, reason: nil, detail: nil)

    package static func invalid(_ reason: Reason, _ detail: String) -> Judgement {
        Judgement(verdict: .invalid, reason: reason, detail: detail)
    }

    package static func undetermined(_ reason: Reason, _ detail: String) -> Judgement {
        Judgement(verdict: .undetermined, reason: reason, detail: detail)
    }

    private init(verdict: VerificationVerdict, reason: Reason?, detail: String?) {
        self.verdict = verdict
        self.reason = reason
        self.detail = detail
    }

    init(_ failure: VerificationFailure) {
        let reason: Reason =
            switch failure.reason {
            case .format: .format
            case .chainLength: .chainLength
            case .certificate: .certificate
            case .chain: .chain
            case .signature: .signature
            case .app: .app
            case .environment: .environment
            case .crossCheck: .crossCheck
            case .undetermined: .revocation
            }
        self.init(verdict: failure.verdict, reason: reason, detail: failure.detail)
    }

    /// The worst of several; the first of those that are equally bad.
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
