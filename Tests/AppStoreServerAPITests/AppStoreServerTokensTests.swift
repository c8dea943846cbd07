import AppStoreServerAPI
import Crypto
import JSONWebSignature
import Subscriptions
import Synchronization
import TestSupport
import Testing

@Suite struct `Tokens` {
    /// A wall clock that tests set.
    final class WallClock: Sendable {
        private let second = Atomic<Int64>(1_750_000_000)
        var now: Timestamp {
            Timestamp(unixMilliseconds: second.load(ordering: .relaxed) * 1000 + 999)
        }
        func advance(seconds: Int64) { second.add(seconds, ordering: .relaxed) }
    }

    let clock = WallClock()
    let secret = P256.Signing.PrivateKey()
    let tokens: AppStoreServerTokens

    init() {
        let clock = clock
        tokens = AppStoreServerTokens(
            issuerID: "57246542-96fe-1a63-e053-0824d011072a", keyID: "2X9R4HXF34",
            bundleID: "com.example.app", key: ES256PrivateKey(secret), now: { clock.now })
    }

    @Test func `carries the claims that Apple wants and a signature that holds`() throws {
        let parts = try tokens.current().split(separator: ".")
        let header = try decoded(parts[0])
        #expect(header.member("alg")?.text == "ES256")
        #expect(header.member("kid")?.text == "2X9R4HXF34")
        #expect(header.member("typ")?.text == "JWT")
        let claims = try decoded(parts[1])
        #expect(claims.member("iss")?.text == "57246542-96fe-1a63-e053-0824d011072a")
        #expect(claims.member("aud")?.text == "appstoreconnect-v1")
        #expect(claims.member("bid")?.text == "com.example.app")
        #expect(claims.member("iat")?.integer == 1_749_999_970)
        #expect(claims.member("exp")?.integer == 1_750_001_200)
        let signature = try #require(Base64.decodeURL(Array(parts[2].utf8)[...]))
        #expect(
            secret.publicKey.isValidSignature(
                try P256.Signing.ECDSASignature(rawRepresentation: signature),
                for: Array("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test func `names no app and lives less than 20 minutes for App Store Connect`() throws {
        let clock = clock
        let tokens = AppStoreServerTokens(
            issuerID: "57246542-96fe-1a63-e053-0824d011072a", keyID: "6PD4K7QW2B",
            bundleID: nil, key: ES256PrivateKey(secret), now: { clock.now })
        let first = try tokens.current()
        let claims = try decoded(first.split(separator: ".")[1])
        #expect(claims.member("aud")?.text == "appstoreconnect-v1")
        #expect(claims.member("bid") == nil)
        #expect(claims.member("iat")?.integer == 1_749_999_970)
        #expect(claims.member("exp")?.integer == 1_750_000_900)
        clock.advance(seconds: 15 * 60 - 60)
        #expect(try tokens.current() != first)
    }

    @Test func `is reused until a minute before its end`() throws {
        let first = try tokens.current()
        clock.advance(seconds: 20 * 60 - 61)
        #expect(try tokens.current() == first)
        #expect(tokens.signedTokens == 1)
        clock.advance(seconds: 1)
        #expect(try tokens.current() != first)
        #expect(tokens.signedTokens == 2)
    }

    @Test func `is made anew when the clock was set back`() throws {
        let first = try tokens.current()
        clock.advance(seconds: -31)
        #expect(try tokens.current() != first)
    }

    @Test func `is renewed once for all who were refused with it`() async throws {
        let tokens = tokens
        let refused = try tokens.current()
        let renewed = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<32 { group.addTask { try tokens.renewed(after: refused) } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(renewed.count == 1)
        #expect(renewed.first != refused)
        #expect(tokens.signedTokens == 2)
        #expect(try tokens.current() == renewed.first)
    }

    private func decoded(_ segment: Substring) throws -> JSONValue {
        let bytes = try #require(Base64.decodeURL(Array(segment.utf8)[...]))
        return try JSONDocument(bytes).root
    }
}
