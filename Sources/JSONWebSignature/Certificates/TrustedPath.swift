import FoundationEssentials
import SwiftASN1
@_spi(DisableValidityCheck) import X509

/// Leaf, intermediate and trusted root of a chain that is valid, apart from its dates.
///
/// The root is the trust anchor of the path, whatever the chain has as its third entry.
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

    /// Returns why a further policy rejects this path; `nil` when it does not.
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

/// The time during which every certificate of a chain is valid, in whole UNIX seconds.
///
/// RFC 5280 counts in seconds, both ends included (section 4.1.2.5).
struct ValidityPeriod: Hashable, Sendable {
    let firstSecond: Int64
    let lastSecond: Int64

    init(of chain: some Sequence<Certificate>) {
        var first = Int64.min
        var last = Int64.max
        for certificate in chain {
            first = max(first, Self.seconds(certificate.notValidBefore))
            last = min(last, Self.seconds(certificate.notValidAfter))
        }
        firstSecond = first
        lastSecond = last
    }

    func contains(unixMilliseconds: Int64) -> Bool {
        let (quotient, remainder) = unixMilliseconds.quotientAndRemainder(dividingBy: 1000)
        let second = remainder < 0 ? quotient - 1 : quotient
        return firstSecond <= second && second <= lastSecond
    }

    private static func seconds(_ date: Date) -> Int64 {
        Int64(date.timeIntervalSince1970.rounded(.down))
    }
}
