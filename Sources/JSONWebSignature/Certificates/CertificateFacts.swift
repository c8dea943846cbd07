import Crypto
import FoundationEssentials
import SwiftASN1
import X509

/// The contents of a certificate, for display.
package struct CertificateFacts: Hashable, Sendable {
    package let subject: String
    /// The common name of the subject; the whole subject where it has none.
    package let name: String
    /// Hexadecimal.
    package let serialNumber: String
    /// Both ends of its validity, in UNIX milliseconds.
    package let notBefore: Int64
    package let notAfter: Int64
    /// SHA-256 of its DER form, in lowercase hexadecimal.
    package let fingerprint: String

    /// - Throws: `.certificate` when the bytes are no certificate in DER.
    package init(der: [UInt8]) throws(JSONWebSignatureError) {
        self.init(try CertificateChain.certificate(fromDER: der), der: der)
    }

    fileprivate init(_ certificate: Certificate, der: [UInt8]) {
        subject = certificate.subject.description
        let names = certificate.subject.flatMap { Array($0) }
            .filter { $0.type == .RDNAttributeType.commonName }
        name = names.last.map { "\($0.value)" } ?? certificate.subject.description
        serialNumber = certificate.serialNumber.bytes.map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
        notBefore = Self.milliseconds(certificate.notValidBefore)
        notAfter = Self.milliseconds(certificate.notValidAfter)
        fingerprint = SHA256Digest(of: der).hexadecimal
    }

    private static func milliseconds(_ date: Date) -> Int64 {
        Int64(date.timeIntervalSince1970.rounded(.down)) * 1000
    }
}

extension UnverifiedJWS {
    /// The certificates in the header, the leaf first; not verified.
    ///
    /// Empty when the header does not state ES256 with three certificates.
    package var claimedCertificates: [CertificateFacts] {
        guard let header = try? ProtectedHeader(segment: header) else { return [] }
        let facts = header.certificates.compactMap { try? CertificateFacts(der: $0) }
        return facts.count == header.certificates.count ? facts : []
    }
}

extension TrustedRoots {
    /// The trusted root that issued the intermediate certificate of a verified JWS.
    ///
    /// `nil` when none did. It explains a verdict and does not influence it.
    package func anchor(of jws: UnverifiedJWS) -> CertificateFacts? {
        guard let header = try? ProtectedHeader(segment: jws.header),
            let intermediate = try? CertificateChain.certificate(fromDER: header.certificates[1])
        else { return nil }
        var candidates = listing.compactMap(\.certificate)
        let brought = header.certificates[2]
        if fingerprints.contains(SHA256Digest(of: brought)) { candidates.append(brought) }
        for der in candidates {
            guard let root = try? CertificateChain.certificate(fromDER: der),
                root.subject == intermediate.issuer,
                root.publicKey.isValidSignature(intermediate.signature, for: intermediate)
            else { continue }
            return CertificateFacts(root, der: der)
        }
        return nil
    }

    /// The contents of the roots that were given as certificates.
    package var certificateFacts: [CertificateFacts] {
        listing.compactMap { $0.certificate.flatMap { try? CertificateFacts(der: $0) } }
    }
}
