import SwiftASN1
import X509

/// What a chain must fulfil beyond RFC 5280's basic path validation.
///
/// Exactly three certificates, the markers, and `keyCertSign` on issuers that state a key usage
/// (RFC 5280, section 4.2.1.3; swift-certificates leaves key usage unchecked on purpose).
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
        for issuer in chain.dropFirst() {
            do {
                guard try issuer.extensions.keyUsage?.keyCertSign ?? true else {
                    return .failsToMeetPolicy(reason: "an issuer may not sign certificates")
                }
            } catch {
                return .failsToMeetPolicy(reason: "an issuer's key usage cannot be read")
            }
        }
        return .meetsPolicy
    }
}
