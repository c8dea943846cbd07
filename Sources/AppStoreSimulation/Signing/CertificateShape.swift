import Crypto
import FoundationEssentials
import SwiftASN1
import X509

/// The parts of a certificate that differ between the ones of Apple's signing chain.
struct CertificateShape {
    var commonName: String
    var organizationalUnit: String
    var organization: String
    /// Which role the certificate has in a chain.
    var role: Role
    /// An extension of Apple's own that marks the role, or none.
    var marker: ASN1ObjectIdentifier?
    /// The `http` address of the revocation service; without one that listens, it leads nowhere.
    var responder: String?
    var notBefore: Date
    var notAfter: Date

    enum Role {
        case root, intermediate, signer, responder
        /// With its names and addresses.
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

    /// The extensions in the form and about the size of Apple's.
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

    /// A certificate of this shape.
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
