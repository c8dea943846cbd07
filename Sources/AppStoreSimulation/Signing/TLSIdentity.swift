import Crypto
import FoundationEssentials
import SwiftASN1
import X509

/// A throw-away TLS root and a server certificate for loopback.
struct TLSIdentity: Sendable {
    let rootPEM: String
    let serverPEM: String
    let keyPEM: String

    static func make(now: Date) throws -> TLSIdentity {
        let rootKey = P256.Signing.PrivateKey()
        let rootShape = CertificateShape(
            commonName: "Simulated App Store TLS Root", organizationalUnit: "",
            organization: "Simulated App Store Inc.", role: .root, marker: nil, responder: nil,
            notBefore: now.addingTimeInterval(-86_400 * 2),
            notAfter: now.addingTimeInterval(86_400 * 390))
        let root = try rootShape.certificate(
            for: .init(rootKey.publicKey), issuerName: rootShape.name(), issuerKey: .init(rootKey),
            algorithm: .ecdsaWithSHA256)
        let serverKey = P256.Signing.PrivateKey()
        let serverShape = CertificateShape(
            commonName: "localhost", organizationalUnit: "",
            organization: "Simulated App Store Inc.", role: .server, marker: nil, responder: nil,
            notBefore: now.addingTimeInterval(-86_400),
            notAfter: now.addingTimeInterval(86_400 * 380))
        let server = try serverShape.certificate(
            for: .init(serverKey.publicKey), issuerName: root.subject, issuerKey: .init(rootKey),
            algorithm: .ecdsaWithSHA256)
        return TLSIdentity(
            rootPEM: try root.serializeAsPEM().pemString + "\n",
            serverPEM: try server.serializeAsPEM().pemString + "\n",
            keyPEM: serverKey.pemRepresentation)
    }
}
