import AppStoreServerAPI
import HTTPTransport
import JSONWebSignature
import Subscriptions

/// How one app's verifier learns of revocations: a transport of its own and the check around it.
///
/// OCSP goes over plain HTTP to hosts that certificates name, so it shares nothing with the calls to
/// Apple: no key, no token, no connection, no TLS root of the settings.
struct RevocationConnection {
    let check: RevocationCheck
    private let transport: CurlTransport

    private static let connectTimeoutMilliseconds = 3_000
    private static let totalTimeoutMilliseconds = 5_000
    private static let headLimitBytes = 16_384

    /// `nil` where the app's settings do not ask for it.
    ///
    /// - Parameters:
    ///   - app: The settings; the proxy is theirs.
    ///   - answers: What earlier runs learned; `nil` for commands that keep nothing.
    ///   - now: The wall clock in UNIX milliseconds.
    /// - Throws: 78 for a proxy that cannot be used.
    init?(
        _ app: AppSettings, answers: (any RevocationAnswerShelf)?,
        now: @escaping @Sendable () -> Int64
    ) throws {
        let mode: RevocationMode
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
        // Apple's certificates have no business with this machine; a rehearsal's have no other.
        settings.reach = app.trustedRoots == [.apple] ? .plainElsewhere : .plain
        do throws(HTTPTransportError) {
            settings.proxy = try app.proxy.map { proxy throws(HTTPTransportError) in
                try ProxyURL(proxy)
            }
            transport = try CurlTransport(settings)
        } catch {
            throw CommandFailure(.config, "\(app.identity.bundleID): \(error)")
        }
        check = RevocationCheck(
            mode: mode, responder: OCSPOverHTTP(transport: transport), shelf: answers, now: now)
    }

    func shutdown() async {
        await transport.shutdown()
    }
}
