import Crypto
import FoundationEssentials

/// Creates valid tokens, for `curl` and for tests that are not about tokens.
struct ClientToken: Sendable {
    private static let lifetimeSeconds = 1200

    let app: SimulatedApp
    let key: P256.Signing.PrivateKey

    /// A token that is valid for twenty minutes, in real time.
    func make(unixSeconds: Double) throws -> String {
        let now = Int(unixSeconds)
        var header = JSONWriter(capacity: 64)
        header.object { json in
            json.field("alg", "ES256")
            json.field("kid", app.keyID)
            json.field("typ", "JWT")
        }
        var claims = JSONWriter(capacity: 256)
        claims.object { json in
            json.field("iss", app.issuerID)
            json.field("iat", now - 5)
            json.field("exp", now + Self.lifetimeSeconds)
            json.field("aud", "appstoreconnect-v1")
            json.field("bid", app.bundleID)
        }
        var token = Base64URL.encode(header.bytes)
        token.append(UInt8(ascii: "."))
        Base64URL.append(claims.bytes, to: &token)
        let signature = try key.signature(for: token)
        token.append(UInt8(ascii: "."))
        Base64URL.append(Array(signature.rawRepresentation), to: &token)
        return String(decoding: token, as: UTF8.self)
    }
}
