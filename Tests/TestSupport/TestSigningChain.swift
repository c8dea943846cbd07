package import Crypto
import FoundationEssentials
import JSONWebSignature
import SwiftASN1
import X509

/// A throw-away signing chain of Apple's shape, made in code: P-384 root and intermediate, P-256
/// leaf, both markers, and payloads signed with it.
package struct TestSigningChain: Sendable {
    /// Apple's markers.
    package static let intermediateMarker = "1.2.840.113635.100.6.2.1"
    package static let leafMarker = "1.2.840.113635.100.6.11.1"

    /// Certificates in DER: leaf, intermediate, root.
    package let certificates: [[UInt8]]
    package let leafKey: P256.Signing.PrivateKey
    package let intermediateKey: P384.Signing.PrivateKey
    package let rootKey: P384.Signing.PrivateKey

    /// What a chain may have otherwise than a correct one.
    package struct Options: Sendable {
        package var intermediateMarker: String? = TestSigningChain.intermediateMarker
        package var leafMarker: String? = TestSigningChain.leafMarker
        package var intermediateIsAuthority = true
        package var intermediateMaySignCertificates = true
        package var leafMaySignData = true
        /// UNIX seconds.
        package var rootValidity: Range<Int64> = 1_577_836_800..<2_366_841_600
        package var intermediateValidity: Range<Int64> = 1_640_995_200..<2_208_988_800
        package var leafValidity: Range<Int64> = 1_672_531_200..<2_051_222_400

        /// Where OCSP answers are to be had; `nil` leaves the extension out.
        package var leafResponder: String?
        package var intermediateResponder: String?
        package var rootResponder: String?

        package init() {}
    }

    package init(_ options: Options = Options()) throws {
        rootKey = P384.Signing.PrivateKey()
        intermediateKey = P384.Signing.PrivateKey()
        leafKey = P256.Signing.PrivateKey()
        let rootName = try Self.name("Test Root CA")
        let intermediateName = try Self.name("Test Developer Relations CA")
        var extensions = try Self.authorityExtensions(pathLength: nil, maySign: true)
        try Self.append(responder: options.rootResponder, to: &extensions)
        let root = try Self.certificate(
            subject: rootName, key: .init(rootKey.publicKey), issuer: rootName,
            issuerKey: .init(rootKey), validity: options.rootValidity, extensions: extensions)
        extensions =
            options.intermediateIsAuthority
            ? try Self.authorityExtensions(
                pathLength: 0, maySign: options.intermediateMaySignCertificates)
            : try Certificate.Extensions { Critical(BasicConstraints.notCertificateAuthority) }
        try Self.append(marker: options.intermediateMarker, to: &extensions)
        try Self.append(responder: options.intermediateResponder, to: &extensions)
        let intermediate = try Self.certificate(
            subject: intermediateName, key: .init(intermediateKey.publicKey), issuer: rootName,
            issuerKey: .init(rootKey), validity: options.intermediateValidity,
            extensions: extensions)
        extensions = try Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            Critical(
                KeyUsage(
                    digitalSignature: options.leafMaySignData,
                    keyAgreement: !options.leafMaySignData))
        }
        try Self.append(marker: options.leafMarker, to: &extensions)
        try Self.append(responder: options.leafResponder, to: &extensions)
        let leaf = try Self.certificate(
            subject: try Self.name("Test Receipt Signing"), key: .init(leafKey.publicKey),
            issuer: intermediateName, issuerKey: .init(intermediateKey),
            validity: options.leafValidity, extensions: extensions)
        certificates = try [leaf, intermediate, root].map(Self.der)
    }

    package var rootDER: [UInt8] { certificates[2] }

    /// SHA-256 of the root, as it is pinned.
    package var rootFingerprint: String {
        SHA256.hash(data: rootDER).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }

    /// A compact JWS over the payload, signed by the leaf.
    ///
    /// - Parameters:
    ///   - payload: Usually a JSON object.
    ///   - certificates: What stands in `x5c`; the chain itself when absent.
    ///   - algorithm: What the header claims; the signature is ES256 in any case.
    /// - Returns: The compact JWS.
    /// - Throws: When the key cannot sign.
    package func sign(
        _ payload: String, certificates: [[UInt8]]? = nil, algorithm: String = "ES256"
    ) throws -> String {
        let entries = (certificates ?? self.certificates).map(Base64.encodeStandard)
        let chain = entries.map { "\"\($0)\"" }.joined(separator: ",")
        let header = "{\"alg\":\"\(algorithm)\",\"x5c\":[\(chain)]}"
        return try ES256PrivateKey(leafKey).compactJWS(
            header: Array(header.utf8), payload: Array(payload.utf8))
    }

    private static func name(_ commonName: String) throws -> DistinguishedName {
        try DistinguishedName {
            CommonName(commonName)
            OrganizationName("Test PKI")
        }
    }

    private static func authorityExtensions(
        pathLength: Int?, maySign: Bool
    ) throws -> Certificate.Extensions {
        try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: pathLength))
            Critical(KeyUsage(keyCertSign: maySign, cRLSign: true))
        }
    }

    private static func append(
        marker: String?, to extensions: inout Certificate.Extensions
    ) throws {
        guard let marker else { return }
        try extensions.append(
            Certificate.Extension(
                oid: ASN1ObjectIdentifier(dotRepresentation: marker), critical: false,
                value: [0x05, 0x00]))
    }

    private static func append(
        responder: String?, to extensions: inout Certificate.Extensions
    ) throws {
        guard let responder else { return }
        try extensions.append(
            Certificate.Extension(
                AuthorityInformationAccess([
                    .init(method: .ocspServer, location: .uniformResourceIdentifier(responder))
                ]), critical: false))
    }

    private static func certificate(
        subject: DistinguishedName, key: Certificate.PublicKey, issuer: DistinguishedName,
        issuerKey: Certificate.PrivateKey, validity: Range<Int64>,
        extensions: Certificate.Extensions
    ) throws -> Certificate {
        try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key,
            notValidBefore: Date(timeIntervalSince1970: Double(validity.lowerBound)),
            notValidAfter: Date(timeIntervalSince1970: Double(validity.upperBound)),
            issuer: issuer, subject: subject, signatureAlgorithm: .ecdsaWithSHA384,
            extensions: extensions, issuerPrivateKey: issuerKey)
    }

    private static func der(_ certificate: Certificate) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }
}
