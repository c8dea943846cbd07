import Crypto
import JSONWebSignature
import Testing

@Suite struct `ES256 signing` {
    @Test func `signs a token that its public key verifies`() throws {
        let secret = P256.Signing.PrivateKey()
        let key = try ES256PrivateKey(pem: secret.pemRepresentation)
        let token = try key.compactJWS(header: Array("{}".utf8), payload: Array("{}".utf8))
        let parts = token.split(separator: ".")
        let signature = try #require(Base64.decodeURL(Array(parts[2].utf8)[...]))
        #expect(signature.count == 64)
        #expect(
            secret.publicKey.isValidSignature(
                try P256.Signing.ECDSASignature(rawRepresentation: signature),
                for: Array("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test func `reads a key file with line ends of any kind`() throws {
        let pem = P256.Signing.PrivateKey().pemRepresentation
        _ = try ES256PrivateKey(pem: pem + "\n")
        _ = try ES256PrivateKey(pem: pem.replacing("\n", with: "\r\n"))
    }

    @Test func `refuses other keys without quoting them`() {
        let p384 = P384.Signing.PrivateKey().pemRepresentation
        for text in ["", "nothing", p384] {
            let error = #expect(throws: JSONWebSignatureError.self) {
                try ES256PrivateKey(pem: text)
            }
            #expect(error?.reason == .key)
            #expect(error?.description.contains("MI") == false)
        }
    }

    /// Throw-away keys, made with openssl.
    @Test(arguments: [
        (
            """
            -----BEGIN PRIVATE KEY-----
            MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQgW7p2rfEJAgErEGZCQqvx
            o3yx5n8l8NJg/R+fhTz3dsuhRANCAAS2C27uqDE8qai+1ggknJ7oGWEfaJGYLO7U
            zNMvUN5K1d2BaFpKf8XCpWe8Wkvrar5XxIQwVBrXhgsEQcKFJXPk
            -----END PRIVATE KEY-----
            """, "on the curve secp256k1"
        ),
        (
            """
            -----BEGIN EC PRIVATE KEY-----
            MHQCAQEEIDh7I2SealL9+tQpcXJZiY9Hr4oYaX8COk9CIMDt0nu6oAcGBSuBBAAK
            oUQDQgAEEoaARccOeRhN1unHVtdAekUshipgdim2NSwRLzdIXzPHb5CYSKIwvUwW
            LyR2FK4EWBOC3vPUDc7ZITNv9SlgPw==
            -----END EC PRIVATE KEY-----
            """, "on the curve secp256k1"
        ),
        (
            """
            -----BEGIN PRIVATE KEY-----
            MC4CAQAwBQYDK2VwBCIEIFk0GmgHOVIy1uaYkYFCpwEcj9Mu/eYjXqQjT98slBe9
            -----END PRIVATE KEY-----
            """, "an Ed25519 key"
        ),
        (P384.Signing.PrivateKey().pemRepresentation, "on the curve P-384"),
        (P521.Signing.PrivateKey().pemRepresentation, "on the curve P-521"),
    ])
    func `says which other key it is`(pem: String, kind: String) {
        let error = #expect(throws: JSONWebSignatureError.self) { try ES256PrivateKey(pem: pem) }
        #expect(
            error?.detail == "the private key is \(kind), and Apple's keys are on the curve P-256")
    }

    @Test func `prints as redacted`() {
        let key = ES256PrivateKey(P256.Signing.PrivateKey())
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), String(describing: [key]), dumped] {
            #expect(text.contains("redacted"))
            #expect(!text.contains("P256"))
        }
    }
}
