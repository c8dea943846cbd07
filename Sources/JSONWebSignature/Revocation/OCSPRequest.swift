import Crypto
import SwiftASN1
import X509

/// A request for the revocation status of one certificate of a path (RFC 6960, section 4.1).
struct OCSPRequest: Sendable {
    enum Role: String, Sendable {
        case leaf, intermediate
    }

    let key: OCSPResponseKey
    /// The request in DER, for one certificate and without a nonce.
    ///
    /// Responses are cached until they expire, so a nonce would protect from nothing; responders
    /// that sign in advance do not repeat it anyway (RFC 5019, section 2.1.1).
    let encoded: [UInt8]
    /// The last three members of `CertID`: both hashes of the issuer, and the serial number.
    let identity: [UInt8]
    /// The name of the certificate in messages.
    let subject: String

    /// The responder that the certificate names; `nil` where it names none.
    var address: String? { key.responder.isEmpty ? nil : key.responder }

    init(about role: Role, of path: TrustedPath) throws {
        let (certificate, issuer) =
            switch role {
            case .leaf: (path.leaf, path.intermediate)
            case .intermediate: (path.intermediate, path.root)
            }
        subject = "the \(role) certificate (serial \(certificate.serialNumber))"
        key = OCSPResponseKey(
            certificate: SHA256Digest(of: try Self.der(certificate)).hexadecimal,
            issuer: SHA256Digest(of: try Self.der(issuer)).hexadecimal,
            responder: Self.responder(of: certificate) ?? "")
        // SHA-1 only identifies the issuer here and protects nothing; every responder supports it.
        let name = Insecure.SHA1.hash(data: try Self.der(issuer.subject))
        let publicKey = Insecure.SHA1.hash(data: issuer.publicKey.subjectPublicKeyInfoBytes)
        var members = DER.Serializer()
        try members.serialize(ASN1OctetString(contentBytes: Array(name)[...]))
        try members.serialize(ASN1OctetString(contentBytes: Array(publicKey)[...]))
        try members.serialize(certificate.serialNumber.bytes)
        identity = members.serializedBytes
        encoded = try Self.encoded(identity: identity)
    }

    /// The first OCSP address of the certificate that is a URL.
    private static func responder(of certificate: Certificate) -> String? {
        let access = try? certificate.extensions.authorityInformationAccess
        for description in access ?? AuthorityInformationAccess([])
        where description.method == .ocspServer {
            if case .uniformResourceIdentifier(let address) = description.location {
                return address
            }
        }
        return nil
    }

    private static func encoded(identity: [UInt8]) throws -> [UInt8] {
        let sha1: ASN1ObjectIdentifier = [1, 3, 14, 3, 2, 26]
        var coder = DER.Serializer()
        // OCSPRequest, TBSRequest, requestList, Request, CertID.
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                try coder.appendConstructedNode(identifier: .sequence) { coder in
                    try coder.appendConstructedNode(identifier: .sequence) { coder in
                        try coder.appendConstructedNode(identifier: .sequence) { coder in
                            try coder.appendConstructedNode(identifier: .sequence) { coder in
                                try coder.serialize(sha1)
                                try coder.serialize(ASN1Null())
                            }
                            coder.serializeRawBytes(identity)
                        }
                    }
                }
            }
        }
        return coder.serializedBytes
    }

    private static func der(_ value: some DERSerializable) throws -> [UInt8] {
        var coder = DER.Serializer()
        try coder.serialize(value)
        return coder.serializedBytes
    }
}
