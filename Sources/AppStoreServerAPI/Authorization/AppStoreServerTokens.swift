package import JSONWebSignature
package import Subscriptions
import Synchronization

/// Signs the JSON Web Tokens of one key and reuses each until shortly before its end.
///
/// The App Store Server API refuses tokens that live longer than 60 minutes; those for it live 20. App
/// Store Connect's API refuses tokens of more than 20 minutes. One signature serves thousands of
/// calls. Source: Generating JSON Web Tokens for API requests.
package final class AppStoreServerTokens: AuthorizationTokens {
    package static let lifetimeSeconds: Int64 = 20 * 60
    /// With the backdating it is still less than the 20 minutes that App Store Connect allows.
    static let connectLifetimeSeconds: Int64 = 15 * 60
    /// A token is replaced this long before its end, so that none expires on its way to Apple.
    package static let renewalMarginSeconds: Int64 = 60
    /// `iat` is set this far in the past, because our clock may be slightly ahead of Apple's.
    package static let backdatingSeconds: Int64 = 30

    private struct State {
        var token: String?
        var issuedAtSecond: Int64 = 0
        var signed = 0
    }

    private let issuerID: String
    private let keyID: String
    private let bundleID: String?
    private let lifetimeSeconds: Int64
    private let key: ES256PrivateKey
    private let now: @Sendable () -> Timestamp
    private let state = Mutex(State())

    /// - Parameters:
    ///   - issuerID: The issuer id of App Store Connect's In-App Purchase keys page.
    ///   - keyID: The id of the key.
    ///   - bundleID: The app, for which alone the token is good; `nil` for App Store Connect's API.
    ///   - key: The private key.
    ///   - now: The wall clock.
    package init(
        issuerID: String, keyID: String, bundleID: String?, key: ES256PrivateKey,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.issuerID = issuerID
        self.keyID = keyID
        self.bundleID = bundleID
        lifetimeSeconds =
            bundleID == nil ? Self.connectLifetimeSeconds : Self.lifetimeSeconds
        self.key = key
        self.now = now
    }

    /// How many tokens have been signed.
    package var signedTokens: Int { state.withLock { $0.signed } }

    package func current() throws(JSONWebSignatureError) -> String { try token(otherThan: nil) }

    package func renewed(after rejected: String) throws(JSONWebSignatureError) -> String {
        try token(otherThan: rejected)
    }

    private func token(otherThan rejected: String?) throws(JSONWebSignatureError) -> String {
        let second = now().unixMilliseconds / 1000
        return try state.withLock { (state) throws(JSONWebSignatureError) in
            if let token = state.token, token != rejected,
                isUsable(issuedAt: state.issuedAtSecond, at: second)
            {
                return token
            }
            return try sign(at: second, into: &state)
        }
    }

    /// `false` also after the clock was set back: then the token would be from the future.
    private func isUsable(issuedAt: Int64, at second: Int64) -> Bool {
        let age = second - issuedAt
        return age >= 0
            && age < lifetimeSeconds + Self.backdatingSeconds - Self.renewalMarginSeconds
    }

    private func sign(
        at second: Int64, into state: inout State
    ) throws(JSONWebSignatureError) -> String {
        let issuedAt = second - Self.backdatingSeconds
        let header = CanonicalJSON.object([
            "alg": .string("ES256"), "kid": .string(keyID), "typ": .string("JWT"),
        ])
        var members: [String: CanonicalJSON] = [
            "aud": .string("appstoreconnect-v1"), "exp": .integer(second + lifetimeSeconds),
            "iat": .integer(issuedAt), "iss": .string(issuerID),
        ]
        members["bid"] = bundleID.map { .string($0) }
        let claims = CanonicalJSON.object(members)
        let token = try key.compactJWS(
            header: Array(header.rendered.utf8), payload: Array(claims.rendered.utf8))
        state.token = token
        state.issuedAtSecond = issuedAt
        state.signed += 1
        return token
    }
}

/// The source of bearer tokens of one key.
package protocol AuthorizationTokens: Sendable {
    /// The current token; a new one is signed shortly before it expires, by the wall clock.
    func current() throws(JSONWebSignatureError) -> String

    /// A token other than `rejected`, to which Apple answered 401. Concurrent callers that were
    /// refused with the same token get the same new one.
    func renewed(after rejected: String) throws(JSONWebSignatureError) -> String
}
