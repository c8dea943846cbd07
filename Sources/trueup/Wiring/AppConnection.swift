import AppStoreServerAPI
import HTTPTransport
import JSONWebSignature
import Reports
import Subscriptions

/// Everything that asking Apple about one app takes, put together from its settings.
struct AppConnection {
    let appStore: any AppStore
    let reportedApp: ReportedApp
    let reportedRoots: [Reports.TrustedRoot]
    private let transport: CurlTransport

    /// - Throws: 77 or 78 for a key, a root or an address that cannot be used; no call is made.
    init(
        _ app: AppSettings, environment: [String: String], deadline: ContinuousClock.Instant,
        wallClock: @escaping @Sendable () -> Timestamp
    ) throws {
        let roots = try Self.roots(of: app)
        let key = try Self.key(of: app, environment: environment)
        transport = try Self.transport(for: app)
        let requests = PacedRequests(
            app: app.identity, keyID: app.keyID, baseURL: app.endpoint.url, transport: transport,
            tokens: AppStoreServerTokens(
                issuerID: app.issuerID, keyID: app.keyID, bundleID: app.identity.bundleID,
                key: key, now: wallClock),
            rates: Self.rates(of: app), deadline: deadline, clock: ContinuousClock(),
            wallClock: wallClock)
        let verifier = SignedDataVerifier(
            app: app.identity, appAppleID: app.appAppleID,
            verifier: try JWSVerifier(
                roots: roots, markers: AppleCertificates.markers,
                now: { wallClock().unixMilliseconds }))
        appStore = AppStoreServerClient(sender: requests, verifier: verifier)
        reportedApp = ReportedApp(identity: app.identity, appAppleID: app.appAppleID)
        reportedRoots = roots.listing.map { root in
            let isApple = root.fingerprint == AppleCertificates.rootG3Fingerprint
            return Reports.TrustedRoot(
                fingerprint: root.fingerprint, isApple: isApple,
                certificatePEM: isApple ? nil : root.certificate.map(Self.pem))
        }
    }

    func shutdown() async {
        await transport.shutdown()
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

    /// - Throws: 78 for a root that cannot be read or is no certificate.
    static func roots(of app: AppSettings) throws -> TrustedRoots {
        var fingerprints: [String] = []
        var files: [[UInt8]] = []
        for root in app.trustedRoots {
            switch root {
            case .apple: fingerprints.append(AppleCertificates.rootG3Fingerprint)
            case .file(let path):
                files.append(try SettingsFile.bytes(ofFileAt: path, key: "trusted_roots"))
            }
        }
        do throws(JSONWebSignatureError) {
            return try TrustedRoots(fingerprints: fingerprints, certificateFiles: files)
        } catch {
            throw CommandFailure(.config, "trusted_roots of \(app.identity.bundleID): \(error)")
        }
    }

    private static func pem(_ der: [UInt8]) -> String {
        let text = Base64.encodeStandard(der)
        let lines = stride(from: 0, to: text.utf8.count, by: 64).map { start in
            text.utf8.dropFirst(start).prefix(64).map { Character(Unicode.Scalar($0)) }
        }
        return "-----BEGIN CERTIFICATE-----\n" + lines.map { String($0) + "\n" }.joined()
            + "-----END CERTIFICATE-----\n"
    }
}
