import SwiftASN1
@_spi(DisableValidityCheck) import X509

/// Leaf, intermediate and trusted root of a chain that holds, apart from its dates.
///
/// The root is the anchor that the path ends at, whatever the chain brought as its third entry.
struct TrustedPath: Sendable {
    let leaf: Certificate
    let intermediate: Certificate
    let root: Certificate
    let validity: ValidityPeriod
    private let policy: MarkedChainPolicy

    /// - Parameters:
    ///   - path: Three certificates, as `MarkedChainPolicy` demands.
    ///   - policy: What the path was validated with.
    init(_ path: ValidatedCertificateChain, policy: MarkedChainPolicy) {
        precondition(path.count == CertificateChain.length)
        leaf = path[0]
        intermediate = path[1]
        root = path[2]
        validity = ValidityPeriod(of: path)
        self.policy = policy
    }

    /// What a further policy has against this very path; `nil` when nothing.
    func objection(by further: some VerifierPolicy & Sendable) async -> String? {
        var verifier = Verifier(rootCertificates: CertificateStore([root])) {
            RFC5280Policy.withValidityCheckDisabled()
            policy
            further
        }
        let result = await verifier.validate(
            leaf: leaf, intermediates: CertificateStore([intermediate]))
        switch result {
        case .validCertificate: return nil
        case .couldNotValidate(let failures):
            return failures.first.map { "\($0.policyFailureReason)" } ?? "the path does not hold"
        }
    }
}
