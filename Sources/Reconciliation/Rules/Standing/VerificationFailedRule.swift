import Subscriptions

extension AllRules {
    /// `verification_failed`: a signature, chain or cross-check failed.
    ///
    /// Nothing in the payload is used, so the row is undecided. Critical: either a person tampers with
    /// the connection to Apple, or the trusted roots are set up wrongly. The rejected payload is kept
    /// for the auditor.
    static let verificationFailed = StandingRule("VerificationFailedRule") { scoped, context in
        guard let rejected = context.rejection(of: scoped.row) else { return nil }
        // The entry contains no signed payload: the answer is unreadable, not forged.
        guard !rejected.isUndecodable else { return .undecided(.undecodable) }
        // An OCSP responder that cannot be reached says nothing against the payload.
        guard rejected.failure.verdict == .invalid else { return .undecided(.unavailable) }
        return Conclusion(
            verdict: .undecided(.verificationFailed),
            differences: [
                rejected.difference(
                    Finding(kind: .verificationFailed, severity: .critical, row: scoped.row))
            ])
    }
}

extension RejectedStatement {
    /// A finding of this kind about the entry.
    func difference(_ finding: Finding) -> Difference {
        var finding = finding
        finding.cause = cause
        return Difference(finding, payload: payload)
    }

    private var cause: String {
        switch failure.reason {
        case .format: "not a signed payload of the App Store's form"
        case .chainLength: "certificate chain of another length"
        case .certificate: "unreadable certificate"
        case .chain: "certificate chain does not hold"
        case .signature: "signature does not hold"
        case .app: "made for another app"
        case .environment: "made for another environment"
        case .crossCheck: "verified parts contradict each other"
        case .revocation: "revocation of a certificate not determined"
        case .digest: "payload does not have the stated digest"
        case .nothingSigned: "nothing signed"
        }
    }
}
