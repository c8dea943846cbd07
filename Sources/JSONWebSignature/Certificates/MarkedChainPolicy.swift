import SwiftASN1
import X509

/// The requirements on a chain beyond RFC 5280's basic path validation.
///
/// Exactly three certificates, the markers, and the right key usage where it is stated:
/// `keyCertSign` on issuers, `digitalSignature` on the leaf (RFC 5280, section 4.2.1.3;
/// swift-certificates does not check key usage, on purpose). RFC 5280 would also accept a leaf that
/// is a certificate authority, and a wrong authority key identifier; no genuine chain has either.
struct MarkedChainPolicy: VerifierPolicy {
    private let intermediateMarker: ASN1ObjectIdentifier
    private let leafMarker: ASN1ObjectIdentifier
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier]

    init(markers: CertificateMarkers) throws(JSONWebSignatureError) {
        do {
            intermediateMarker = try ASN1ObjectIdentifier(dotRepresentation: markers.intermediate)
            leafMarker = try ASN1ObjectIdentifier(dotRepresentation: markers.leaf)
        } catch {
            throw JSONWebSignatureError(.format, "a certificate marker is no object identifier")
        }
        verifyingCriticalExtensions = [intermediateMarker, leafMarker]
    }

    mutating func chainMeetsPolicyRequirements(
        chain: UnverifiedCertificateChain
    ) async -> PolicyEvaluationResult {
        guard chain.count == CertificateChain.length else {
            return .failsToMeetPolicy(reason: "the path does not have three certificates")
        }
        guard chain[1].extensions[oid: intermediateMarker] != nil else {
            return .failsToMeetPolicy(reason: "the intermediate lacks its marker extension")
        }
        guard chain[0].extensions[oid: leafMarker] != nil else {
            return .failsToMeetPolicy(reason: "the leaf lacks its marker extension")
        }
        do {
            return try Self.objection(to: Array(chain)).map { .failsToMeetPolicy(reason: $0) }
                ?? .meetsPolicy
        } catch {
            return .failsToMeetPolicy(reason: "an extension of a certificate cannot be read")
        }
    }

    private static func objection(to chain: [Certificate]) throws -> String? {
        for issuer in chain.dropFirst() {
            guard try issuer.extensions.keyUsage?.keyCertSign ?? true else {
                return "an issuer may not sign certificates"
            }
        }
        if case .isCertificateAuthority = try chain[0].extensions.basicConstraints {
            return "the leaf is a certificate authority"
        }
        guard try chain[0].extensions.keyUsage?.digitalSignature ?? true else {
            return "the leaf may not sign data"
        }
        for (certificate, issuer) in zip(chain, chain.dropFirst()) {
            let named = try certificate.extensions.authorityKeyIdentifier?.keyIdentifier
            let identifier = try issuer.extensions.subjectKeyIdentifier?.keyIdentifier
            guard named == nil || identifier == nil || named == identifier else {
                return "a certificate names another key of its issuer"
            }
        }
        return nil
    }
}

/// Extensions whose presence shows the purpose of a certificate.
///
/// A trusted root signs intermediates and leaves for many purposes; the markers identify those for
/// this one. Only presence counts, not the extension's value.
package struct CertificateMarkers: Hashable, Sendable {
    /// Object identifiers in dotted decimal form.
    package let intermediate: String
    package let leaf: String

    package init(intermediate: String, leaf: String) {
        self.intermediate = intermediate
        self.leaf = leaf
    }
}
