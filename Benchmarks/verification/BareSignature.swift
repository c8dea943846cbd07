import Crypto
import JSONWebSignature
import SwiftASN1
import X509

/// A payload's signature with everything else done beforehand: the floor of any verification.
struct BareSignature {
    private let key: P256.Signing.PublicKey
    private let signature: P256.Signing.ECDSASignature
    private let digest: SHA256.Digest

    init(_ compact: [UInt8]) throws {
        let parts = compact.split(separator: UInt8(ascii: "."))
        guard parts.count == 3, let header = Base64.decodeURL(parts[0]),
            let raw = Base64.decodeURL(parts[2]),
            let entry = try JSONDocument(header).root.members.first(where: {
                $0.name.isText("x5c")
            })?.value.elements.first?.textBytes,
            let leaf = Base64.decodeStandard(entry),
            let key = P256.Signing.PublicKey(try Certificate(derEncoded: leaf).publicKey)
        else { throw JSONWebSignatureError(.format, "not a payload of this benchmark") }
        self.key = key
        signature = try P256.Signing.ECDSASignature(rawRepresentation: raw)
        digest = SHA256.hash(data: compact[..<parts[2].startIndex].dropLast())
    }

    var holds: Bool { key.isValidSignature(signature, for: digest) }
}
