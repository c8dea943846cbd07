import AppStoreServerAPI
import HTTPTransport
import JSONWebSignature
import Subscriptions

/// Everything that asking Apple about one app takes, put together from its settings.
struct AppConnection {
    let appStore: any AppStore
    private let transport: CurlTransport
    private let revocation: RevocationConnection?

    /// - Parameters:
    ///   - app: The settings.
    ///   - environment: Where a key may be.
    ///   - deadline: Until when to go on trying.
    ///   - maxOutage: For how long an endpoint that does not work is waited for.
    ///   - outages: Who hears of it.
    ///   - revocationAnswers: What earlier runs learned of certificates; `nil` to keep nothing.
    ///   - wallClock: The present.
    /// - Throws: 77 or 78 for a key, a root or an address that cannot be used; no call is made.
    init(
        _ app: AppSettings, environment: [String: String], deadline: ContinuousClock.Instant,
        maxOutage: Duration, outages: OutageBoard,
        revocationAnswers: (any RevocationAnswerShelf)? = nil,
        wallClock: @escaping @Sendable () -> Timestamp
    ) throws {
        let roots = try AppTrust.roots(of: app)
        let key = try Self.key(of: app, environment: environment)
        transport = try Self.transport(for: app)
        let requests = PacedRequests(
            app: app.identity, keyID: app.keyID, baseURL: app.endpoint.url, transport: transport,
            tokens: AppStoreServerTokens(
                issuerID: app.issuerID, keyID: app.keyID, bundleID: app.identity.bundleID,
                key: key, now: wallClock),
            rates: Self.rates(of: app), maxOutage: maxOutage, deadline: deadline,
            clock: ContinuousClock(), wallClock: wallClock, hear: { outages.tell($0) })
        let now: @Sendable () -> Int64 = { wallClock().unixMilliseconds }
        revocation = try RevocationConnection(app, answers: revocationAnswers, now: now)
        let verifier = SignedDataVerifier(
            app: app.identity, appAppleID: app.appAppleID,
            verifier: try JWSVerifier(
                roots: roots, markers: AppleCertificates.markers, revocation: revocation?.check,
                now: now))
        appStore = AppStoreServerClient(sender: requests, verifier: verifier)
    }

    func shutdown() async {
        await transport.shutdown()
        await revocation?.shutdown()
    }

    private static func rates(of app: AppSettings) -> QuotaRates {
        if let rate = app.requestsPerSecond { return .uniform(requestsPerSecond: rate) }
        return .documented(environment: app.identity.environment, share: app.quotaShare)
    }

    /// - Throws: 78 for a CA file or proxy that cannot be used.
    static func transport(for app: AppSettings) throws -> CurlTransport {
        var settings = CurlTransport.Settings()
        settings.userAgent = "trueup/" + ToolVersion.current
        settings.caFile = app.caFile
        do throws(HTTPTransportError) {
            settings.proxy = try app.proxy.map { proxy throws(HTTPTransportError) in
                try ProxyURL(proxy)
            }
            return try CurlTransport(settings)
        } catch {
            throw CommandFailure(.config, "\(app.identity.bundleID): \(error)")
        }
    }

    /// - Throws: 77 or 78 for a key that may not or cannot be used.
    static func key(
        of app: AppSettings, environment: [String: String]
    ) throws -> ES256PrivateKey {
        let pem = try PrivateKeyFile.load(app, environment: environment)
        do throws(JSONWebSignatureError) {
            return try ES256PrivateKey(pem: pem.reveal())
        } catch {
            throw CommandFailure(
                .denied,
                "the key of \(app.identity.bundleID) is no P-256 private key in PKCS#8: use the "
                    + ".p8 file as downloaded from App Store Connect")
        }
    }
}
