import SwiftASN1
import X509

/// What a chain must fulfil beyond RFC 5280's basic path validation.
///
/// Exactly three certificates, the markers, and, on certificates that state a key usage,
/// `keyCertSign` for issuers and `digitalSignature` for the leaf (RFC 5280, section 4.2.1.3;
/// swift-certificates leaves key usage unchecked on purpose).
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
            for issuer in chain.dropFirst() {
                guard try issuer.extensions.keyUsage?.keyCertSign ?? true else {
                    return .failsToMeetPolicy(reason: "an issuer may not sign certificates")
                }
            }
            guard try chain[0].extensions.keyUsage?.digitalSignature ?? true else {
                return .failsToMeetPolicy(reason: "the leaf may not sign data")
            }
        } catch {
            return .failsToMeetPolicy(reason: "a certificate's key usage cannot be read")
        }
        return .meetsPolicy
    }
}
