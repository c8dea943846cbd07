/// An entry of an answer that did not pass verification, and why.
package struct RejectedStatement: Hashable, Sendable {
    /// The unsigned id beside the rejected payloads; `nil` where that is unusable, too.
    package var originalTransactionID: String?
    package var failure: VerificationFailure
    /// The rejected payload as received, for the auditor; bounded in size by the body limit.
    package var payload: SignedPayload?

    package init(
        originalTransactionID: String?, failure: VerificationFailure, payload: SignedPayload?
    ) {
        self.originalTransactionID = originalTransactionID
        self.failure = failure
        self.payload = payload
    }

    /// Whether the entry held nothing that could be verified, as opposed to failing verification.
    package var isUndecodable: Bool { payload == nil && failure.reason == .format }

    /// Whether verification failed: only that is a finding and counts as a failure.
    package var isInvalid: Bool { !isUndecodable && failure.verdict == .invalid }

    /// Whether verification could not be completed, so that the entry is neither good nor bad.
    package var isUndetermined: Bool { failure.verdict == .undetermined }
}

/// Why a signed payload is not accepted.
package struct VerificationFailure: Hashable, Sendable, Error, CustomStringConvertible {
    /// The reasons of runs and of `trueup inspect`, whose output names them by these texts.
    package enum Reason: String, Hashable, Sendable, CaseIterable {
        case format
        case chainLength = "chain_length"
        case certificate
        case chain
        case signature
        case app
        case environment
        /// Parts that are valid on their own name different subscriptions.
        case crossCheck = "cross_check"
        /// The text is not the one whose SHA-256 stands beside it; only in `inspect`.
        case digest
        /// Undetermined: it could not be learned whether a certificate is revoked.
        case revocation
        /// Undetermined: nothing in the text is signed; only in `inspect`.
        case nothingSigned = "nothing_signed"

        /// What the reason says about a payload.
        package var verdict: VerificationVerdict {
            switch self {
            case .revocation, .nothingSigned: .undetermined
            case .format, .chainLength, .certificate, .chain, .signature, .app, .environment,
                .crossCheck, .digest:
                .invalid
            }
        }
    }

    package var reason: Reason
    /// A sentence for the person on call; it quotes no payload.
    package var detail: String
    /// The setting that the payload contradicts; `nil` where it fails for another reason.
    package var contradicted: ContradictedSetting?

    package init(reason: Reason, detail: String, contradicted: ContradictedSetting? = nil) {
        self.reason = reason
        self.detail = detail
        self.contradicted = contradicted
    }

    package var description: String { detail }

    package var verdict: VerificationVerdict { reason.verdict }
}

/// A setting of an app, and what an answer of Apple's states in its place.
package struct ContradictedSetting: Hashable, Sendable {
    /// As the settings file names it.
    package var name: String
    package var configured: String
    package var stated: String

    /// What was stated is shown to people, and anyone may have sent it.
    package init(_ name: String, configured: String, stated: String) {
        self.name = name
        self.configured = configured
        let shown = stated.unicodeScalars.filter {
            ![.control, .format, .lineSeparator, .paragraphSeparator]
                .contains($0.properties.generalCategory)
        }
        self.stated = String(String.UnicodeScalarView(shown.prefix(Self.longest)))
    }

    private static let longest = 160
}

/// The three possible results of verifying a signed payload.
package enum VerificationVerdict: String, Hashable, Sendable, CaseIterable {
    case valid, invalid
    /// Verification could not be completed: neither valid nor invalid.
    case undetermined
}
