import Crypto
import FoundationEssentials
import SwiftASN1
@_spi(DisableValidityCheck) import X509

/// The three certificates of `x5c`: leaf, intermediate, root.
struct CertificateChain {
    static let length = 3

    private let leaf: Certificate
    private let intermediate: Certificate
    private let root: Certificate
    private let rootFingerprint: SHA256Digest

    /// - Parameter entries: Certificates in DER, the leaf first; exactly three.
    /// - Throws: `.chainLength` or `.certificate`.
    init(entries: [[UInt8]]) throws(JSONWebSignatureError) {
        guard entries.count == Self.length else {
            throw JSONWebSignatureError(
                .chainLength, "the chain has \(entries.count) certificates instead of three")
        }
        leaf = try Self.certificate(fromDER: entries[0])
        intermediate = try Self.certificate(fromDER: entries[1])
        root = try Self.certificate(fromDER: entries[2])
        rootFingerprint = SHA256Digest(of: entries[2])
    }

    static func certificate(fromDER bytes: [UInt8]) throws(JSONWebSignatureError) -> Certificate {
        do {
            return try Certificate(derEncoded: bytes)
        } catch {
            throw JSONWebSignatureError(.certificate, "a certificate is not DER")
        }
    }

    /// The leaf's key for ES256.
    ///
    /// - Throws: `.signature` when it is on another curve: then no ES256 signature can be valid.
    func leafKey() throws(JSONWebSignatureError) -> P256.Signing.PublicKey {
        guard let key = P256.Signing.PublicKey(leaf.publicKey) else {
            throw JSONWebSignatureError(.signature, "the leaf certificate's key is not P-256")
        }
        return key
    }

    /// Validates the path (RFC 5280, section 6) except for its dates, which the result contains.
    ///
    /// The dates are checked for each signature at its own time: archived payloads stay valid after
    /// their leaf has expired, and a cached chain is never used beyond its dates. The third entry
    /// is a trust anchor only when its fingerprint is trusted, and is not used otherwise.
    func path(
        toOneOf roots: TrustedRoots, policy: MarkedChainPolicy
    ) async throws(JSONWebSignatureError) -> TrustedPath {
        var anchors = roots.certificates
        if roots.fingerprints.contains(rootFingerprint), !anchors.contains(root) {
            anchors.append(root)
        }
        var verifier = Verifier(rootCertificates: CertificateStore(anchors)) {
            RFC5280Policy.withValidityCheckDisabled()
            policy
        }
        let result = await verifier.validate(
            leaf: leaf, intermediates: CertificateStore([intermediate]))
        switch result {
        case .validCertificate(let path):
            return TrustedPath(path, policy: policy)
        case .couldNotValidate(let failures):
            let why = failures.first.map { "\($0.policyFailureReason)" }
            throw JSONWebSignatureError(
                .chain,
                "the certificate chain does not hold: "
                    + (why ?? "it does not lead to a trusted root"))
        }
    }
}
