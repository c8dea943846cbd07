import Crypto
import FoundationEssentials
import SwiftASN1
import X509

/// A TLS certificate authority for the server certificates of one simulator.
struct TLSAuthority: Sendable {
    /// The hosts of Apple's API, for clients that are redirected here by a hosts file.
    ///
    /// Source: App Store Server API, hosts of production and sandbox, present and previous.
    static let appleHosts = [
        "api.storekit.apple.com", "api.storekit-sandbox.apple.com", "api.storekit.itunes.apple.com",
        "api.storekit-sandbox.itunes.apple.com",
    ]
    private static let loopbackHosts = ["localhost", "127.0.0.1", "::1"]

    let root: Certificate
    let rootKey: P256.Signing.PrivateKey
    /// Further names and addresses in the certificates.
    let hosts: [String]

    /// `hosts`: names and addresses in addition to loopback and Apple's hosts.
    static func make(now: Date, hosts: [String] = []) throws -> TLSAuthority {
        let key = P256.Signing.PrivateKey()
        let template = CertificateTemplate(
            commonName: "Simulated App Store TLS Root", organizationalUnit: "",
            organization: "Simulated App Store Inc.", role: .root, marker: nil, responder: nil,
            notBefore: now.addingTimeInterval(-86_400 * 2),
            notAfter: now.addingTimeInterval(86_400 * 3650))
        let root = try template.certificate(
            for: .init(key.publicKey), issuerName: template.name(), issuerKey: .init(key),
            algorithm: .ecdsaWithSHA256)
        return TLSAuthority(root: root, rootKey: key, hosts: hosts)
    }

    var rootPEM: String {
        get throws { try root.serializeAsPEM().pemString + "\n" }
    }

    /// Issues a server certificate; valid for a year by default.
    func identity(
        hosts: [String]? = nil, notBefore: Date? = nil, notAfter: Date? = nil
    ) throws -> TLSIdentity {
        let key = P256.Signing.PrivateKey()
        let now = Date()
        let server = try template(
            hosts: hosts ?? Self.loopbackHosts + Self.appleHosts + self.hosts,
            notBefore: notBefore ?? now.addingTimeInterval(-86_400),
            notAfter: notAfter ?? now.addingTimeInterval(86_400 * 380)
        ).certificate(
            for: .init(key.publicKey), issuerName: root.subject, issuerKey: .init(rootKey),
            algorithm: .ecdsaWithSHA256)
        return try TLSIdentity(server, key: key)
    }

    /// A self-signed server certificate.
    func selfSigned() throws -> TLSIdentity {
        let key = P256.Signing.PrivateKey()
        let now = Date()
        let template = template(
            hosts: Self.loopbackHosts + Self.appleHosts + hosts,
            notBefore: now.addingTimeInterval(-86_400),
            notAfter: now.addingTimeInterval(86_400 * 380))
        let server = try template.certificate(
            for: .init(key.publicKey), issuerName: template.name(), issuerKey: .init(key),
            algorithm: .ecdsaWithSHA256)
        return try TLSIdentity(server, key: key)
    }

    private func template(
        hosts: [String], notBefore: Date, notAfter: Date
    ) -> CertificateTemplate {
        CertificateTemplate(
            commonName: hosts.first ?? "localhost", organizationalUnit: "",
            organization: "Simulated App Store Inc.", role: .server(hosts: hosts), marker: nil,
            responder: nil, notBefore: notBefore, notAfter: notAfter)
    }
}

/// A server certificate with its key.
struct TLSIdentity: Sendable {
    let serverPEM: String
    let keyPEM: String

    init(_ certificate: Certificate, key: P256.Signing.PrivateKey) throws {
        serverPEM = try certificate.serializeAsPEM().pemString + "\n"
        keyPEM = key.pemRepresentation
    }
}
