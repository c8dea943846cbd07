import AppStoreServerAPI
import HTTPTransport
import JSONWebSignature
import SubscriptionStore
import Subscriptions

/// How one app's verifier learns of revocations: by OCSP, over a transport of its own.
///
/// OCSP goes over plain HTTP to hosts that certificates name, so it shares nothing with the calls
/// to Apple: no key, no token, no connection, no TLS root of the settings.
struct RevocationConnection {
    private let mode: RevocationMode
    private let transport: CurlTransport

    private static let connectTimeoutMilliseconds = 3_000
    private static let totalTimeoutMilliseconds = 5_000
    private static let headLimitBytes = 16_384

    /// `nil` where the app's settings do not ask for it.
    ///
    /// - Parameter app: the settings; the proxy is theirs.
    /// - Throws: 78 for a proxy that cannot be used.
    init?(_ app: AppSettings) throws {
        switch app.revocation {
        case .off: return nil
        case .soft: mode = .soft
        case .hard: mode = .hard
        }
        var settings = CurlTransport.Settings()
        settings.userAgent = "trueup/" + ToolVersion.current
        settings.connectTimeoutMilliseconds = Self.connectTimeoutMilliseconds
        settings.totalTimeoutMilliseconds = Self.totalTimeoutMilliseconds
        settings.bodyLimitBytes = RevocationLimits.answerBytes
        settings.headLimitBytes = Self.headLimitBytes
        // The address stands in a certificate: Apple's never leads to this machine, a rehearsal's always does.
        settings.reach = app.trustedRoots == [.apple] ? .plainElsewhere : .plain
        do throws(HTTPTransportError) {
            settings.proxy = try app.proxy.map { proxy throws(HTTPTransportError) in
                try ProxyURL(proxy)
            }
            transport = try CurlTransport(settings)
        } catch {
            throw CommandFailure(.config, "\(app.identity.bundleID): \(error)")
        }
    }

    /// - Parameters:
    ///   - answers: what earlier runs learned.
    ///   - now: the wall clock in UNIX milliseconds.
    /// - Returns: what the verifier of signatures asks.
    func check(
        keeping answers: any OCSPResponseCache, now: @escaping @Sendable () -> Int64
    ) -> RevocationCheck {
        RevocationCheck(
            mode: mode, responder: OCSPOverHTTP(transport: transport), cache: answers, now: now)
    }

    func shutdown() async {
        await transport.shutdown()
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
