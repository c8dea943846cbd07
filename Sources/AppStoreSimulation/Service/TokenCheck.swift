import Crypto
import FoundationEssentials
import Synchronization

/// Checks the client's JWT as Apple does: algorithm, key, issuer, audience, app and lifetime.
///
/// The lifetime is checked against the real time, not the simulated one. Source: App Store Server
/// API, Generating JSON Web Tokens for API requests; App Store Connect API, Generating tokens for
/// API requests.
final class TokenCheck: Sendable {
    /// The longest lifetime of a token of the App Store Server API.
    static let longestLifetimeSeconds: Double = 3600
    /// The longest lifetime of a token of App Store Connect's API.
    static let longestConnectLifetimeSeconds: Double = 1200
    /// Tolerated clock difference; Apple does not document its own.
    private static let skewSeconds: Double = 30
    private static let rememberedTokens = 256

    private let issuerID: String
    private let keyID: String
    /// `nil` where a token must not name an app.
    private let bundleID: String?
    private let longestLifetimeSeconds: Double
    private let key: P256.Signing.PublicKey
    private let unixSeconds: @Sendable () -> Double
    /// Tokens with a valid signature, and the times at which they are accepted.
    private let known = Mutex<[String: Range<Double>]>([:])

    /// The tokens of the App Store Server API, each for one app.
    init(
        ofAPI app: SimulatedApp, key: P256.Signing.PublicKey,
        unixSeconds: @escaping @Sendable () -> Double
    ) {
        issuerID = app.issuerID
        keyID = app.keyID
        bundleID = app.bundleID
        longestLifetimeSeconds = Self.longestLifetimeSeconds
        self.key = key
        self.unixSeconds = unixSeconds
    }

    /// The tokens of App Store Connect's API, signed with a team key.
    init(
        ofAppStoreConnect app: SimulatedApp, key: P256.Signing.PublicKey,
        unixSeconds: @escaping @Sendable () -> Double
    ) {
        issuerID = app.issuerID
        keyID = app.connectKeyID
        bundleID = nil
        longestLifetimeSeconds = Self.longestConnectLifetimeSeconds
        self.key = key
        self.unixSeconds = unixSeconds
    }

    /// Whether the value of an `Authorization` header is a valid token.
    func accepts(authorization: String?) -> Bool {
        guard let authorization, authorization.hasPrefix("Bearer ") else { return false }
        let token = String(authorization.dropFirst("Bearer ".count))
        let now = unixSeconds()
        if let times = known.withLock({ $0[token] }) { return times.contains(now) }
        guard let times = validity(of: token, now: now), times.contains(now) else { return false }
        known.withLock { known in
            if known.count >= Self.rememberedTokens { known.removeAll(keepingCapacity: true) }
            known[token] = times
        }
        return true
    }

    /// The times at which a token is accepted; `nil` for an invalid one.
    private func validity(of token: String, now: Double) -> Range<Double>? {
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = decode(Header.self, parts[0]),
            let claims = decode(Claims.self, parts[1]), let signature = Base64URL.decode(parts[2])
        else { return nil }
        guard header.alg == "ES256", header.kid == keyID, header.typ ?? "JWT" == "JWT",
            claims.iss == issuerID, claims.aud == "appstoreconnect-v1",
            claims.bid == bundleID
        else { return nil }
        let issued = claims.iat ?? now
        guard claims.exp > issued, claims.exp - issued <= longestLifetimeSeconds
        else { return nil }
        // Without its issue date, a token must not expire later than one that is issued now.
        let from = max(
            claims.iat ?? -.infinity, claims.exp - longestLifetimeSeconds)
        var signed = Array(parts[0])
        signed.append(UInt8(ascii: "."))
        signed.append(contentsOf: parts[1])
        guard let value = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.isValidSignature(value, for: signed)
        else { return nil }
        return (from - Self.skewSeconds)..<(claims.exp + Self.skewSeconds)
    }

    private func decode<Value: Decodable>(
        _ type: Value.Type, _ text: some Collection<UInt8>
    ) -> Value? {
        Base64URL.decode(text).flatMap { try? JSONDecoder().decode(type, from: Data($0)) }
    }

    private struct Header: Decodable {
        var alg: String
        var kid: String
        var typ: String?
    }

    private struct Claims: Decodable {
        var iss: String
        var aud: String
        var bid: String?
        var iat: Double?
        var exp: Double
    }
}
