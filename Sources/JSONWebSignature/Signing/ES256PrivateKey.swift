package import Crypto

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
        do {
            key = try P256.Signing.PrivateKey(pemRepresentation: pem)
        } catch {
            throw JSONWebSignatureError(
                .key, "the private key is not a PEM with a P-256 key in PKCS #8")
        }
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
