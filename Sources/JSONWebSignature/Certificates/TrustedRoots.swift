import FoundationEssentials
import SwiftASN1
import X509

/// The trusted root certificates.
///
/// A root is given by its SHA-256 fingerprint; then the chain must contain the certificate as its
/// third entry. Or it is given as a certificate; then the chain need not contain it.
package struct TrustedRoots: Sendable {
    let fingerprints: Set<SHA256Digest>
    let certificates: [Certificate]

    /// The fingerprint of every root, in lowercase hexadecimal and sorted, with its DER where it
    /// was given as a certificate.
    package let listing: [(fingerprint: String, certificate: [UInt8]?)]

    /// - Parameters:
    ///   - fingerprints: SHA-256 of certificates in DER, 64 hexadecimal digits each.
    ///   - files: Contents of files: one certificate in DER, or one or several in PEM.
    /// - Throws: `.certificate` when something cannot be read.
    package init(
        fingerprints: [String], certificateFiles files: [[UInt8]] = []
    ) throws(JSONWebSignatureError) {
        var digests: Set<SHA256Digest> = []
        var listing: [String: [UInt8]?] = [:]
        for text in fingerprints {
            guard let digest = SHA256Digest(hexadecimal: text) else {
                throw JSONWebSignatureError(
                    .certificate, "a trusted root's fingerprint is not 64 hexadecimal digits")
            }
            digests.insert(digest)
            listing[digest.hexadecimal] = .some(nil)
        }
        var certificates: [Certificate] = []
        for file in files {
            for encoded in try Self.encodedCertificates(file: file) {
                certificates.append(try CertificateChain.certificate(fromDER: encoded))
                let digest = SHA256Digest(of: encoded)
                digests.insert(digest)
                listing[digest.hexadecimal] = encoded
            }
        }
        guard digests.count <= JWSLimits.configuredRoots else {
            throw JSONWebSignatureError(
                .certificate, "more than \(JWSLimits.configuredRoots) trusted roots")
        }
        self.fingerprints = digests
        self.certificates = certificates
        self.listing = listing.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private static func encodedCertificates(
        file: [UInt8]
    ) throws(JSONWebSignatureError) -> [[UInt8]] {
        // DER of a certificate begins with a SEQUENCE; PEM with text.
        if file.first == 0x30 { return [file] }
        do {
            let documents = try PEMDocument.parseMultiple(
                pemString: String(decoding: file, as: UTF8.self))
            let encoded = documents.filter { $0.discriminator == "CERTIFICATE" }.map(\.derBytes)
            if !encoded.isEmpty { return encoded }
        } catch {}
        throw JSONWebSignatureError(
            .certificate, "a trusted root is neither a PEM nor a DER certificate")
    }
}
