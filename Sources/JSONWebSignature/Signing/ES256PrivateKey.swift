package import Crypto
import SwiftASN1

/// A P-256 private key for ES256.
///
/// It prints as redacted, and can only be used to sign.
package struct ES256PrivateKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let key: P256.Signing.PrivateKey

    /// Reads a PEM with PKCS #8 (`BEGIN PRIVATE KEY`), the form of a `.p8` file.
    ///
    /// - Throws: `.key`, without quoting anything of the text.
    package init(pem: String) throws(JSONWebSignatureError) {
        // The library takes any 32 bytes for a key of this curve, whichever curve they name.
        if let read = try? P256.Signing.PrivateKey(pemRepresentation: pem),
            !OtherKey.isOnOtherCurve(pem)
        {
            key = read
            return
        }
        guard let kind = OtherKey.name(ofKeyIn: pem) else {
            throw JSONWebSignatureError(
                .key, "the private key is not a PEM with a P-256 key in PKCS #8")
        }
        throw JSONWebSignatureError(
            .key, "the private key is \(kind), and Apple's keys are on the curve P-256")
    }

    package init(_ key: P256.Signing.PrivateKey) {
        self.key = key
    }

    package var publicKey: P256.Signing.PublicKey { key.publicKey }

    package var description: String { "ES256PrivateKey(redacted)" }

    package var debugDescription: String { description }

    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }

    /// A compact JWS over the given header and payload.
    ///
    /// - Parameters:
    ///   - header: A JSON object; it must say `"alg":"ES256"`.
    ///   - payload: Any bytes; for a JSON Web Token a JSON object.
    /// - Returns: Three base64url segments.
    /// - Throws: `.key` when the cryptographic library refuses to sign.
    package func compactJWS(
        header: [UInt8], payload: [UInt8]
    ) throws(JSONWebSignatureError) -> String {
        let input = Base64.encodeURL(header) + "." + Base64.encodeURL(payload)
        do {
            let signature = try key.signature(for: SHA256.hash(data: Array(input.utf8)))
            return input + "." + Base64.encodeURL(Array(signature.rawRepresentation))
        } catch {
            throw JSONWebSignatureError(.key, "the private key cannot sign")
        }
    }
}

/// Keys that are often made by mistake, told by the object identifiers in them.
private enum OtherKey {
    /// The DER of each identifier: tag, length, contents.
    private static let identifiers: [(name: String, der: [UInt8])] = [
        ("on the curve secp256k1", [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x0A]),
        ("on the curve P-384", [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22]),
        ("on the curve P-521", [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x23]),
        ("on the curve P-224", [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x21]),
        (
            "an RSA key",
            [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
        ),
        ("an Ed25519 key", [0x06, 0x03, 0x2B, 0x65, 0x70]),
    ]

    private static let p256: [UInt8] = [
        0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07,
    ]

    /// Whether a key names another curve than P-256; one that names none does not.
    static func isOnOtherCurve(_ pem: String) -> Bool {
        guard let der = try? PEMDocument(pemString: pem).derBytes else { return false }
        return der.firstRange(of: p256) == nil && name(ofKeyIn: pem) != nil
    }

    /// `nil` for what is not a PEM, or of another kind still; nothing of the key is in the name.
    static func name(ofKeyIn pem: String) -> String? {
        guard let der = try? PEMDocument(pemString: pem).derBytes else { return nil }
        return identifiers.first { der.firstRange(of: $0.der) != nil }?.name
    }
}
