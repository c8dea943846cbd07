import Crypto
import FoundationEssentials
import SwiftASN1
import X509

/// The properties of a certificate from which it is issued.
struct CertificateTemplate {
    var commonName: String
    var organizationalUnit: String
    var organization: String
    /// The certificate's role in a chain.
    var role: Role
    /// Apple's own extension that marks the role, or none.
    var marker: ASN1ObjectIdentifier?
    /// The address of the OCSP responder, or none.
    var responder: String?
    var notBefore: Date
    var notAfter: Date

    enum Role {
        case root, intermediate, signer, responder
        /// A TLS server with its host names and addresses.
        case server(hosts: [String])
    }

    func name() throws -> DistinguishedName {
        try DistinguishedName {
            CommonName(commonName)
            if !organizationalUnit.isEmpty { OrganizationalUnitName(organizationalUnit) }
            OrganizationName(organization)
            CountryName("US")
        }
    }

    /// The extensions, which have the form and about the size of Apple's.
    func extensions(
        subject: Certificate.PublicKey, issuer: Certificate.PublicKey
    ) throws -> Certificate.Extensions {
        let subjectIdentifier = SubjectKeyIdentifier(hash: subject)
        let issuerIdentifier = SubjectKeyIdentifier(hash: issuer)
        var list: [Certificate.Extension] = []
        switch role {
        case .root:
            list.append(
                try .init(
                    BasicConstraints.isCertificateAuthority(maxPathLength: nil), critical: true))
            list.append(try .init(KeyUsage(keyCertSign: true, cRLSign: true), critical: true))
        case .intermediate:
            list.append(
                try .init(BasicConstraints.isCertificateAuthority(maxPathLength: 0), critical: true)
            )
            list.append(try .init(KeyUsage(keyCertSign: true, cRLSign: true), critical: true))
        case .signer:
            list.append(try .init(BasicConstraints.notCertificateAuthority, critical: true))
            list.append(try .init(KeyUsage(digitalSignature: true), critical: true))
            list.append(try CertificatePolicyNotice.makeExtension())
        case .server(let hosts):
            list.append(try .init(BasicConstraints.notCertificateAuthority, critical: true))
            list.append(try .init(KeyUsage(digitalSignature: true), critical: true))
            list.append(try .init(ExtendedKeyUsage([.serverAuth]), critical: false))
            let names = hosts.map { host -> GeneralName in
                guard let address = NetworkAddress(host) else { return .dnsName(host) }
                return .ipAddress(ASN1OctetString(contentBytes: address.bytes[...]))
            }
            list.append(try .init(SubjectAlternativeNames(names), critical: false))
        case .responder:
            list.append(try .init(BasicConstraints.notCertificateAuthority, critical: true))
            list.append(try .init(KeyUsage(digitalSignature: true), critical: true))
            list.append(try .init(ExtendedKeyUsage([.ocspSigning]), critical: false))
        }
        list.append(try .init(subjectIdentifier, critical: false))
        if case .root = role {
        } else {
            list.append(
                try .init(
                    AuthorityKeyIdentifier(keyIdentifier: issuerIdentifier.keyIdentifier),
                    critical: false))
        }
        if let responder {
            list.append(
                try .init(
                    AuthorityInformationAccess([
                        .init(method: .ocspServer, location: .uniformResourceIdentifier(responder))
                    ]), critical: false))
        }
        if let marker {
            list.append(Certificate.Extension(oid: marker, critical: false, value: [0x05, 0x00]))
        }
        return try Certificate.Extensions(list)
    }

    /// Issues a certificate with these properties.
    func certificate(
        for subject: Certificate.PublicKey, issuerName: DistinguishedName,
        issuerKey: Certificate.PrivateKey, algorithm: Certificate.SignatureAlgorithm
    ) throws -> Certificate {
        try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: subject,
            notValidBefore: notBefore, notValidAfter: notAfter, issuer: issuerName,
            subject: try name(), signatureAlgorithm: algorithm,
            extensions: try extensions(subject: subject, issuer: issuerKey.publicKey),
            issuerPrivateKey: issuerKey)
    }
}

/// A certificate policy with a user notice, which makes the leaf about as large as Apple's.
enum CertificatePolicyNotice {
    private static let notice =
        "This certificate was made for one run of a simulated App Store. Nobody vouches for it, "
        + "nothing outside that run relies on it, and its private key is thrown away when the "
        + "simulator stops; do not add its root to any list of trusted roots that outlives a test."
    private static let address = "http://127.0.0.1/certificates/simulated-app-store/"

    /// RFC 5280, section 4.2.1.4, with one policy, a user notice and a statement address.
    static func makeExtension() throws -> Certificate.Extension {
        var coder = DER.Serializer()
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                try coder.serialize(ASN1ObjectIdentifier("1.2.840.113635.100.5.6.1"))
                try coder.appendConstructedNode(identifier: .sequence) { coder in
                    try coder.appendConstructedNode(identifier: .sequence) { coder in
                        try coder.serialize(ASN1ObjectIdentifier("1.3.6.1.5.5.7.2.2"))
                        try coder.appendConstructedNode(identifier: .sequence) { coder in
                            try coder.serialize(ASN1UTF8String(notice))
                        }
                    }
                    try coder.appendConstructedNode(identifier: .sequence) { coder in
                        try coder.serialize(ASN1ObjectIdentifier("1.3.6.1.5.5.7.2.1"))
                        try coder.serialize(ASN1IA5String(address))
                    }
                }
            }
        }
        return Certificate.Extension(
            oid: "2.5.29.32", critical: false,
            value: coder.serializedBytes[...])
    }
}
