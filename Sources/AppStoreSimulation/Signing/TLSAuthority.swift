import Crypto
import FoundationEssentials
import SwiftASN1
import X509

/// A TLS root that issues the server certificates of one simulator.
struct TLSAuthority: Sendable {
    /// Where Apple's API stands: a client that fixes its hosts can be led here by a hosts file.
    ///
    /// Source: App Store Server API, hosts of production and sandbox, present and previous.
    static let appleHosts = [
        "api.storekit.apple.com", "api.storekit-sandbox.apple.com", "api.storekit.itunes.apple.com",
        "api.storekit-sandbox.itunes.apple.com",
    ]
    private static let loopbackHosts = ["localhost", "127.0.0.1", "::1"]

    let root: Certificate
    let rootKey: P256.Signing.PrivateKey
    /// Names and addresses of right certificates.
    let hosts: [String]

    /// `hosts`: names and addresses besides loopback and Apple's.
    static func make(now: Date, hosts: [String] = []) throws -> TLSAuthority {
        let key = P256.Signing.PrivateKey()
        let shape = CertificateShape(
            commonName: "Simulated App Store TLS Root", organizationalUnit: "",
            organization: "Simulated App Store Inc.", role: .root, marker: nil, responder: nil,
            notBefore: now.addingTimeInterval(-86_400 * 2),
            notAfter: now.addingTimeInterval(86_400 * 3650))
        let root = try shape.certificate(
            for: .init(key.publicKey), issuerName: shape.name(), issuerKey: .init(key),
            algorithm: .ecdsaWithSHA256)
        return TLSAuthority(root: root, rootKey: key, hosts: hosts)
    }

    var rootPEM: String {
        get throws { try root.serializeAsPEM().pemString + "\n" }
    }

    /// A server certificate, valid for a year unless said.
    func identity(
        hosts: [String]? = nil, notBefore: Date? = nil, notAfter: Date? = nil
    ) throws -> TLSIdentity {
        let key = P256.Signing.PrivateKey()
        let now = Date()
        let server = try shape(
            hosts: hosts ?? Self.loopbackHosts + Self.appleHosts + self.hosts,
            notBefore: notBefore ?? now.addingTimeInterval(-86_400),
            notAfter: notAfter ?? now.addingTimeInterval(86_400 * 380)
        ).certificate(
            for: .init(key.publicKey), issuerName: root.subject, issuerKey: .init(rootKey),
            algorithm: .ecdsaWithSHA256)
        return try TLSIdentity(server, key: key)
    }

    /// A server certificate that nobody vouches for.
    func selfSigned() throws -> TLSIdentity {
        let key = P256.Signing.PrivateKey()
        let now = Date()
        let shape = shape(
            hosts: Self.loopbackHosts + Self.appleHosts + hosts,
            notBefore: now.addingTimeInterval(-86_400),
            notAfter: now.addingTimeInterval(86_400 * 380))
        let server = try shape.certificate(
            for: .init(key.publicKey), issuerName: shape.name(), issuerKey: .init(key),
            algorithm: .ecdsaWithSHA256)
        return try TLSIdentity(server, key: key)
    }

    private func shape(
        hosts: [String], notBefore: Date, notAfter: Date
    ) -> CertificateShape {
        CertificateShape(
            commonName: hosts.first ?? "localhost", organizationalUnit: "",
            organization: "Simulated App Store Inc.", role: .server(hosts: hosts), marker: nil,
            responder: nil, notBefore: notBefore, notAfter: notAfter)
    }
}
