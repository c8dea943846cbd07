import Crypto
import SwiftASN1
import X509

/// A server certificate with its key.
struct TLSIdentity: Sendable {
    let serverPEM: String
    let keyPEM: String

    init(_ certificate: Certificate, key: P256.Signing.PrivateKey) throws {
        serverPEM = try certificate.serializeAsPEM().pemString + "\n"
        keyPEM = key.pemRepresentation
    }
}
