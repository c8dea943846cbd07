import AppStoreServerAPI
import HTTPTransport
import JSONWebSignature
import ReconciliationRun
import Reports
import ServerConnections
import SubscriptionStore
import Subscriptions

/// The parts that are needed to ask Apple about one app: its key, its roots, and open transports.
///
/// It is opened before a run takes its lock, so that settings that cannot work fail at once. The
/// store and the log come later, and are given to `appStore`.
struct AppConnection {
    private let app: AppSettings
    private let roots: TrustedRoots
    private let key: ES256PrivateKey
    private let transport: CurlTransport
    /// How revocations are learned of, by OCSP; `nil` where the settings do not ask for it.
    private let revocation: (mode: RevocationMode, transport: CurlTransport)?

    /// - Parameters:
    ///   - app: the settings.
    ///   - environment: where a key may be.
    /// - Throws: 77 or 78 for a key, a root or an address that cannot be used; no call is made.
    init(_ app: AppSettings, environment: [String: String]) throws {
        self.app = app
        roots = try app.roots()
        key = try Self.key(of: app, environment: environment)
        transport = try CurlTransport(
            caFile: app.caFile, proxy: app.proxy, concerning: app.identity.bundleID)
        revocation = try Self.revocation(of: app)
    }

    /// - Parameters:
    ///   - clock: the present, and until when to continue trying.
    ///   - maxOutage: how long an endpoint that does not work is waited for.
    ///   - store: whose processes share the quota.
    ///   - calls: the calls of all workers, where several share the quota.
    ///   - peaks: where the busiest hour is noted.
    ///   - hear: is told what the calls wait for, and how fast they are made.
    ///   - order: what people want of the pace now.
    /// - Returns: the calls about the app; `end` gives back what was booked and not made.
    /// - Throws: `StoreError`.
    func requests(
        by clock: RunClock, maxOutage: Duration, sharingQuotaIn store: SQLiteStore,
        and calls: SharedCalls?, noting peaks: QuotaPeaks,
        hear: @escaping @Sendable (PacingNotice) -> Void,
        order: @escaping @Sendable () -> PaceOrder
    ) async throws -> PacedRequests {
        let rates = QuotaRates.allowed(by: app)
        let own = SharedQuota(
            store: store, app: app.identity, rates: rates, now: clock.now,
            peaks: calls == nil ? peaks : nil)
        var book: any QuotaBook = own
        if let calls { book = WorkerQuota(own: own, shared: calls, peaks: peaks) }
        return app.requests(
            with: key, over: transport, by: clock, rates: rates, book: book,
            earlierRefusals: try await store.refusals(ofEndpointsOf: app.identity),
            maxOutage: maxOutage, hear: hear, order: order)
    }

    /// The calls of a command that leaves the database as it is.
    ///
    /// - Parameters:
    ///   - clock: the present, and until when to continue trying.
    ///   - store: whose processes share the quota; the calls are noted beside it.
    ///   - hear: is told what the calls wait for.
    /// - Returns: the calls about the app.
    /// - Throws: `StoreError`.
    func requests(
        by clock: RunClock, notingCallsBeside store: SQLiteStore,
        hear: @escaping @Sendable (PacingNotice) -> Void
    ) async throws -> PacedRequests {
        let rates = QuotaRates.allowed(by: app)
        return app.requests(
            with: key, over: transport, by: clock, rates: rates,
            book: NotedQuota(
                store: store, app: app.identity, rates: rates, now: clock.now, isRequired: true),
            earlierRefusals: try await store.refusals(ofEndpointsOf: app.identity), hear: hear)
    }

    /// - Parameters:
    ///   - requests: what asks Apple.
    ///   - revocationAnswers: what earlier runs learned of certificates.
    ///   - wallClock: the present.
    /// - Returns: Apple's answers about the app, as the run asks for them.
    /// - Throws: an error of trueup's, where the marks of Apple's certificates cannot be read.
    func appStore(
        asking requests: PacedRequests, keeping revocationAnswers: any OCSPResponseCache,
        wallClock: @escaping @Sendable () -> Timestamp
    ) throws -> any AppStore {
        let now: @Sendable () -> Int64 = { wallClock().unixMilliseconds }
        return AppStoreServerClient(
            sender: requests,
            verifier: SignedDataVerifier(
                app: app.identity, appAppleID: app.appAppleID,
                verifier: try JWSVerifier(
                    roots: roots, markers: AppleCertificates.markers,
                    revocation: revocation.map { mode, transport in
                        RevocationCheck(
                            mode: mode, responder: OCSPOverHTTP(transport: transport),
                            cache: revocationAnswers, now: now)
                    }, now: now)))
    }

    func shutdown() async {
        await transport.shutdown()
        await revocation?.transport.shutdown()
    }

    /// How the app's verifier learns of revocations: by OCSP, over a transport of its own.
    ///
    /// OCSP goes over plain HTTP to hosts that certificates name, so it shares nothing with the calls
    /// to Apple: no key, no token, no connection, no TLS root of the settings.
    ///
    /// - Throws: 78 for a proxy that cannot be used.
    private static func revocation(
        of app: AppSettings
    ) throws -> (mode: RevocationMode, transport: CurlTransport)? {
        let mode: RevocationMode
        switch app.revocation {
        case .off: return nil
        case .soft: mode = .soft
        case .hard: mode = .hard
        }
        let transport = try CurlTransport(
            caFile: nil, proxy: app.proxy, concerning: app.identity.bundleID
        ) { limits in
            limits.connectTimeoutMilliseconds = 3_000
            limits.totalTimeoutMilliseconds = 5_000
            limits.bodyLimitBytes = RevocationLimits.answerBytes
            limits.headLimitBytes = 16_384
            // The address is in a certificate: Apple's never leads to this machine, a rehearsal's
            // always does.
            limits.reach = app.trustedRoots == [.apple] ? .plainElsewhere : .plain
        }
        return (mode, transport)
    }

    /// - Throws: 77 or 78 for a key that may not or cannot be used.
    static func key(
        of app: AppSettings, environment: [String: String]
    ) throws -> ES256PrivateKey {
        try ES256PrivateKey(
            app.keySource, concerning: app.identity.bundleID, environment: environment)
    }
}

extension CurlTransport {
    /// - Parameters:
    ///   - caFile: An extra TLS root, for loopback hosts.
    ///   - proxy: The proxy's address.
    ///   - subject: Whose settings these are, for messages.
    ///   - change: Other limits than the usual ones.
    /// - Throws: 78 for a CA file or proxy that cannot be used.
    convenience init(
        caFile: String?, proxy: String?, concerning subject: String,
        _ change: (inout Settings) -> Void = { _ in }
    ) throws(CommandFailure) {
        var settings = Settings()
        settings.userAgent = "trueup/" + ToolVersion.current
        settings.caFile = caFile
        change(&settings)
        do throws(HTTPTransportError) {
            settings.proxy = try proxy.map { proxy throws(HTTPTransportError) in
                try ProxyURL(proxy)
            }
            try self.init(settings)
        } catch {
            throw CommandFailure(.config, "\(subject): \(error)")
        }
    }
}

extension ES256PrivateKey {
    /// - Throws: 77 or 78 for a key that may not or cannot be used.
    init(
        _ source: SecretSource, concerning subject: String, environment: [String: String]
    ) throws {
        let pem = try source.privateKey(environment)
        do throws(JSONWebSignatureError) {
            try self.init(pem: pem.reveal())
        } catch {
            let place =
                switch source {
                case .file(let path): path
                case .environment(let name): "$" + name
                }
            throw CommandFailure(
                .denied,
                "\(place), the key of \(subject): \(error.detail). Use the .p8 file as "
                    + "downloaded from App Store Connect")
        }
    }
}

extension QuotaRates {
    /// How many calls may be made about an app: the rate that is set, or the share of Apple's
    /// limits.
    static func allowed(by app: AppSettings) -> QuotaRates {
        if let rate = app.requestsPerSecond { return .uniform(requestsPerSecond: rate) }
        return .documented(environment: app.identity.environment, share: app.quotaShare)
    }
}

extension AppStoreServerClient: AppStore {}

extension AppSettings {
    /// The calls about the app, with tokens that `key` signs.
    ///
    /// They go to `endpoint` instead of the server of the settings where one is given.
    func requests(
        with key: ES256PrivateKey, over transport: any HTTPTransport,
        at endpoint: EndpointURL? = nil, by clock: RunClock, rates: QuotaRates,
        book: (any QuotaBook)?, earlierRefusals: [Endpoint: QuotaRefusal] = [:],
        maxOutage: Duration = .seconds(1800),
        hear: @escaping @Sendable (PacingNotice) -> Void,
        order: @escaping @Sendable () -> PaceOrder = { PaceOrder() }
    ) -> PacedRequests {
        PacedRequests(
            app: identity, keyID: keyID, baseURL: (endpoint ?? self.endpoint).url,
            transport: transport,
            tokens: AppStoreServerTokens(
                issuerID: issuerID, keyID: keyID, bundleID: bundleID, key: key, now: clock.now),
            rates: rates, book: book, earlierRefusals: earlierRefusals, maxOutage: maxOutage,
            deadline: clock.deadline, clock: ContinuousClock(), wallClock: clock.now, hear: hear,
            order: order)
    }
}

/// The trusted roots, as runs use them and as a report states them.
///
/// They need no key: a run that only applies a plan has none.
extension AppSettings {
    /// - Throws: 78 for a root that cannot be used.
    fileprivate func reportedRoots() throws -> [TrustedRoot] {
        try roots().listing.map { root in
            let isApple = root.fingerprint == AppleCertificates.rootG3Fingerprint
            return TrustedRoot(
                fingerprint: root.fingerprint, isApple: isApple,
                certificatePEM: isApple ? nil : root.certificate.map(Self.pem))
        }
    }

    /// - Throws: 78 for a root that cannot be used.
    func roots() throws -> TrustedRoots {
        var fingerprints: [String] = []
        var files: [[UInt8]] = []
        for root in trustedRoots {
            switch root {
            case .apple: fingerprints.append(AppleCertificates.rootG3Fingerprint)
            case .file(let path):
                files.append(try SettingsFile.bytes(ofFileAt: path, key: "trusted_roots"))
            }
        }
        do throws(JSONWebSignatureError) {
            return try TrustedRoots(fingerprints: fingerprints, certificateFiles: files)
        } catch {
            throw CommandFailure(.config, "trusted_roots of \(bundleID): \(error)")
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

extension Settings {
    /// All roots that signed payloads may lead to, each once.
    ///
    /// - Throws: 78 for a root that cannot be used.
    func reportedRoots() throws -> [TrustedRoot] {
        try apps.flatMap { try $0.reportedRoots() }.uniqued()
    }
}

extension ReportContext {
    /// - Parameters:
    ///   - settings: Those of the run.
    ///   - trustedRoots: All roots of the settings.
    ///   - isPlanOnly: Whether the run was not to write to subscription rows.
    ///   - database: Where the run is stored.
    init(
        of settings: Settings, trustedRoots: [TrustedRoot], isPlanOnly: Bool = false,
        in database: ReportingDatabase
    ) {
        self.init(
            toolVersion: ToolVersion.current,
            apps: settings.apps.map {
                ReportedApp(identity: $0.identity, appAppleID: $0.appAppleID)
            },
            trustedRoots: trustedRoots, isPlanOnly: isPlanOnly, database: database.identity)
    }
}

/// Caches OCSP responses in the database for later runs.
///
/// A failure of the database only costs another request to the responder; the run itself reports
/// the failure in its own statements.
struct StoredRevocationAnswers: OCSPResponseCache {
    let store: SQLiteStore
    let now: @Sendable () -> Timestamp

    func response(for key: OCSPResponseKey) async -> [UInt8]? {
        do throws(StoreError) {
            return try await store.revocationAnswer(to: RevocationQuestion(key), at: now())
        } catch {
            return nil
        }
    }

    func keep(_ response: [UInt8], for key: OCSPResponseKey, until end: Int64) async {
        do throws(StoreError) {
            try await store.keepRevocationAnswer(
                response, to: RevocationQuestion(key), until: Timestamp(unixMilliseconds: end),
                at: now())
        } catch {
            return
        }
    }
}

extension RevocationQuestion {
    fileprivate init(_ key: OCSPResponseKey) {
        self.init(certificate: key.certificate, issuer: key.issuer, responder: key.responder)
    }
}
