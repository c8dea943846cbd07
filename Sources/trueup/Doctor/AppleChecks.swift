import AppStoreServerAPI
import HTTPTransport
package import JSONWebSignature
import ReconciliationRun
import SubscriptionStore
package import Subscriptions
import Synchronization

/// Key, roots, call, clock and certificates of one app.
struct AppleChecks {
    /// A larger difference is worth a warning; Apple still accepts tokens.
    private static let noticeableSkewMilliseconds: Int64 = 5000
    /// With a larger one Apple refuses tokens, as issued in the future or expired.
    private static let seriousSkewMilliseconds: Int64 = 60_000

    let app: AppSettings
    /// All configured apps: one of them may be the sandbox of the same app, with the same key.
    let others: [AppSettings]
    let invocation: Invocation

    private var identity: AppIdentity { app.identity }
    private var now: Timestamp { invocation.now() }

    /// Checks what can be seen without a call; returns the key and the roots where they can be
    /// used.
    func local() -> (diagnoses: [Diagnosis], key: ES256PrivateKey?, roots: TrustedRoots?) {
        var diagnoses: [Diagnosis] = []
        var key: ES256PrivateKey?
        var roots: TrustedRoots?
        do {
            key = try AppConnection.key(of: app, environment: invocation.environment)
            diagnoses.append(.ok("key", identity, "\(app.keyID), \(app.keySource.place)"))
        } catch {
            diagnoses.append(.failed("key", identity, error))
        }
        do {
            let found = try app.roots()
            roots = found
            diagnoses.append(
                .ofRoots(
                    found.certificateFacts, of: identity,
                    trustsApple: app.trustedRoots.contains(.apple), now: now))
        } catch {
            diagnoses.append(.failed("roots", identity, error))
        }
        return (diagnoses, key, roots)
    }

    /// The authenticated call and what it shows.
    func remote(
        key: ES256PrivateKey, roots: TrustedRoots, storedID: String?,
        sharingQuotaIn store: SQLiteStore?
    ) async -> [Diagnosis] {
        let probe = AppleProbe(app: app, key: key, store: store, wallClock: invocation.now)
        let result: AppleProbe.Result
        do {
            // Everything that a run opens, also what the probe has no use for.
            await (try AppConnection(app, environment: invocation.environment)).shutdown()
            result = try await probe.ask(about: storedID ?? AppleProbe.absentID)
        } catch {
            return [.failed("apple", identity, error)]
        }
        let call: Diagnosis
        switch result.answer {
        case .accepted(let response, let signed):
            let (accepted, intermediate) = await judged(
                response, signed, roots: roots, storedID: storedID)
            return [
                accepted, clockDiagnosis(result),
                .ofIntermediate(intermediate, of: identity, now: now),
            ]
        case .denied(let text):
            let (detail, fix) = await reason(ofDenial: text, result, probe)
            call = .failed("apple", identity, detail, fix: fix, .denied)
        case .misconfigured(let text):
            call = .failed(
                "apple", identity, text, fix: "correct bundle_id and environment", .config)
        case .rateLimited:
            call = .warning(
                "apple", identity, "Apple's quota is used up at this moment (429)",
                fix: "ask again later; lower quota_share where others need the quota")
        case .shareUsedUp(let calls, let until):
            call = .warning(
                "apple", identity,
                "not asked: runs and checks of the last hour made the \(calls) calls that the "
                    + "share of the quota allows",
                fix: "ask again after \(until.rfc3339), or raise quota_share")
        case .unreadable(let text):
            call = .failed(
                "apple", identity, "the answer is not Apple's: \(text)",
                fix: "look for a proxy or portal between here and \(app.endpoint.url)",
                .protocol)
        case .unreachable(let text):
            call = .failed(
                "apple", identity, "\(app.endpoint.url) did not answer: \(text)",
                fix: Self.fix(ofUnreachable: text), .unavailable)
        }
        return [call, clockDiagnosis(result)]
    }

    private static func fix(ofUnreachable text: String) -> String {
        guard text.contains(HTTPTransportError.untrusted) else {
            return "check name resolution, firewall and proxy"
        }
        return "install or update ca-certificates; where a proxy opens TLS, let this host pass it "
            + "unopened; for a loopback endpoint name its root in ca_file"
    }

    private func judged(
        _ response: StatusResponse?, _ signed: [UInt8]?, roots: TrustedRoots, storedID: String?
    ) async -> (Diagnosis, intermediate: CertificateFacts?) {
        guard let response else {
            let about =
                storedID.map { "does not find the stored id \($0), but" } ?? "is reached and"
            let compared =
                identity.environment == .production
                ? "; app_apple_id was not compared, because no answer names the app" : ""
            return (
                .ok("apple", identity, "\(app.endpoint.url) \(about) accepts the key\(compared)"),
                nil
            )
        }
        let clock = invocation.now
        let expected = ExpectedIdentity(
            bundleID: identity.bundleID, appAppleID: app.appAppleID,
            environment: identity.environment)
        if let failure = expected.failure(of: response.statedIdentity),
            let setting = failure.contradicted
        {
            let diagnosis = Diagnosis.failed(
                "apple", identity,
                "the key is accepted, but the answer states the \(setting.name) "
                    + "\(setting.stated), and the settings say \(setting.configured)",
                fix: "compare it with App Store Connect and correct \(setting.name)", .config)
            return (diagnosis, nil)
        }
        guard let signed else {
            return (
                .ok(
                    "apple", identity,
                    "\(app.endpoint.url) accepts the key, and its answer names the app; there is "
                        + "no signed transaction in it"), nil
            )
        }
        let now: @Sendable () -> Int64 = { clock().unixMilliseconds }
        guard
            let candidate = try? PayloadInspector.Candidate(
                expected: expected, roots: roots, now: now)
        else { preconditionFailure("Apple's markers are object identifiers") }
        let found = await PayloadInspector(candidates: [candidate], at: nil, now: now)
            .inspect(signed[...], as: .transaction)
        guard found.judgement.verdict == .valid else {
            let reason = found.judgement.reason?.rawValue ?? ""
            let diagnosis = Diagnosis.failed(
                "apple", identity,
                "the key is accepted, but the signed answer is not (\(reason)): "
                    + (found.judgement.detail ?? ""),
                fix: "check bundle_id, app_apple_id, environment and trusted_roots", .protocol)
            return (diagnosis, nil)
        }
        return (
            .ok(
                "apple", identity,
                "\(app.endpoint.url) accepts the key, and its signed answer verifies and names "
                    + "the app of the settings"),
            found.certificates.dropFirst().first
        )
    }

    /// A 401 does not say why; the clock, and a call to the other environment, do.
    private func reason(
        ofDenial text: String, _ result: AppleProbe.Result, _ probe: AppleProbe
    ) async -> (detail: String, fix: String) {
        if let ahead = result.clockAheadMilliseconds, abs(ahead) > Self.seriousSkewMilliseconds {
            return (text, "set the clock right (NTP), then run doctor again")
        }
        let checkKey =
            "compare key_id, issuer_id and bundle_id with App Store Connect, and make a new "
            + "In-App Purchase key if this one was revoked"
        guard identity.environment == .production else { return (text, checkKey) }
        let sandbox = others.first {
            $0.identity.bundleID == identity.bundleID && $0.keyID == app.keyID
                && $0.identity.environment == .sandbox
        }
        let endpoint =
            sandbox?.endpoint ?? (app.endpoint.isLoopback ? nil : .standard(for: .sandbox))
        guard let endpoint,
            let second = try? await probe.ask(about: AppleProbe.absentID, at: endpoint)
        else { return (text, checkKey) }
        switch second.answer {
        case .accepted:
            return (
                text + " The sandbox accepts the same key: the key is right, and the app most "
                    + "likely has no production release yet.",
                "release the app, or use environment: sandbox until then"
            )
        case .denied: return (text + " The sandbox refuses it too: it is the key.", checkKey)
        default: return (text, checkKey)
        }
    }

    private func clockDiagnosis(_ result: AppleProbe.Result) -> Diagnosis {
        guard let ahead = result.clockAheadMilliseconds else {
            return .skipped("clock", identity, "no answer with a date to compare with")
        }
        let seconds = (abs(ahead) + 500) / 1000
        let detail =
            "\(seconds) s \(ahead > 0 ? "ahead of" : "behind") the Date of the server's answer"
            + Self.consequence(aheadSeconds: ahead / 1000)
        if abs(ahead) > Self.seriousSkewMilliseconds {
            if case .denied = result.answer {
                return .failed("clock", identity, detail, fix: "set it right (NTP)", .denied)
            }
            return .warning(
                "clock", identity, detail, fix: "set it right (NTP) before Apple refuses tokens")
        }
        if abs(ahead) > Self.noticeableSkewMilliseconds {
            return .warning("clock", identity, detail, fix: "set it right (NTP)")
        }
        return .ok("clock", identity, "agrees with the server's to \(max(1, seconds)) s")
    }

    /// Returns what Apple does with tokens that are dated by such a clock.
    private static func consequence(aheadSeconds ahead: Int64) -> String {
        if ahead > AppStoreServerTokens.backdatingSeconds {
            return ": Apple meets tokens that are issued in the future"
        }
        if ahead < -AppStoreServerTokens.lifetimeSeconds {
            return ": Apple meets tokens that have expired"
        }
        return ""
    }
}

/// When the certificates expire that verification depends on, and whether that is soon.
extension Diagnosis {
    private static let warningDays: Int64 = 180

    /// The days on which Apple's certificates end, where none was seen.
    ///
    /// Source: reference, chain in use.
    private static let appleRootG3 = Timestamp(unixMilliseconds: 2_187_734_400_000)
    private static let appleIntermediateG6 = Timestamp(unixMilliseconds: 2_089_497_600_000)

    /// - Parameters:
    ///   - roots: The roots that an app's settings trust.
    ///   - app: The app.
    ///   - trustsApple: Whether Apple's root is one of them.
    ///   - now: The present.
    /// - Returns: One line.
    package static func ofRoots(
        _ roots: [CertificateFacts], of app: AppIdentity, trustsApple: Bool, now: Timestamp
    ) -> Diagnosis {
        var ends = roots.map {
            (name: $0.name, end: Timestamp(unixMilliseconds: $0.notAfter), isApple: false)
        }
        if trustsApple { ends.insert(("Apple Root CA - G3", appleRootG3, true), at: 0) }
        let listed = ends.map { "\($0.name) until \($0.end.utcDay)" }.joined(separator: ", ")
        guard let first = ends.min(by: { $0.end < $1.end }) else {
            return .failed(
                "roots", app, "no root is trusted, so no payload can be valid",
                fix: "write trusted_roots: [apple]", .config)
        }
        if first.end <= now {
            return .failed(
                "roots", app, "\(first.name) ended on \(first.end.utcDay)",
                fix: first.isApple
                    ? "install a version of trueup that knows Apple's next root"
                    : "name a root that is still valid", .config)
        }
        if isSoon(first.end, now) {
            return .warning(
                "roots", app,
                "\(first.name) ends on \(first.end.utcDay), \(inDays(first.end, now))",
                fix: first.isApple
                    ? "install a version of trueup that knows Apple's next root before that day"
                    : "make a new root before that day")
        }
        if ends.contains(where: { !$0.isApple }) {
            return .warning(
                "roots", app,
                "trusted: \(listed). Not Apple's alone: a rehearsal, and every report says so",
                fix: "for real data write trusted_roots: [apple]")
        }
        return .ok("roots", app, listed)
    }

    /// The intermediate in Apple's latest answer, or the one that is known to be in use.
    package static func ofIntermediate(
        _ seen: CertificateFacts?, of app: AppIdentity, now: Timestamp
    ) -> Diagnosis {
        let end = seen.map { Timestamp(unixMilliseconds: $0.notAfter) } ?? appleIntermediateG6
        let name =
            seen?.name ?? "Apple's intermediate G6 (not seen now; the one known to be in use)"
        guard end > now else {
            return .warning(
                "certificates", app, "\(name) ended on \(end.utcDay)",
                fix: "check this machine's clock; Apple no longer signs with it")
        }
        guard isSoon(end, now) else {
            return .ok("certificates", app, "\(name), until \(end.utcDay)")
        }
        return .warning(
            "certificates", app, "\(name) ends on \(end.utcDay), \(inDays(end, now))",
            fix:
                "nothing now: trueup trusts the root, not the intermediate. Expect Apple to change the "
                + "intermediate, and check the reports of those weeks for verification failures")
    }

    private static func isSoon(_ end: Timestamp, _ now: Timestamp) -> Bool {
        end.milliseconds(since: now) < warningDays * Milliseconds.perDay
    }

    private static func inDays(_ end: Timestamp, _ now: Timestamp) -> String {
        "in \(end.milliseconds(since: now) / Milliseconds.perDay) days"
    }
}

/// One authenticated call, and what it tells of key, clock and certificates.
///
/// Get All Subscription Statuses, of a stored id or of one that does not exist: 4040010 proves the key
/// as well as an answer does, and an answer names the app. A test notification would be sent to the
/// company's server.
struct AppleProbe {
    /// An id that Apple never gives.
    static let absentID = "1"
    private static let patience = Duration.seconds(20)

    enum Answer {
        /// The key works; the answer, and a signed transaction in it, where there was one.
        case accepted(response: StatusResponse?, signed: [UInt8]?)
        case denied(String)
        case misconfigured(String)
        /// Apple answered, but with something that cannot be used here.
        case rateLimited
        /// No call was made: the processes on the database have used the share of the hour.
        case shareUsedUp(calls: Int, until: Timestamp)
        case unreadable(String)
        case unreachable(String)
    }

    /// An answer, and this machine's clock minus the server's; `nil` where no date came.
    typealias Result = (answer: Answer, clockAheadMilliseconds: Int64?)

    let app: AppSettings
    let key: ES256PrivateKey
    /// Whose processes share the quota; `nil` where no database can be read.
    let store: SQLiteStore?
    let wallClock: @Sendable () -> Timestamp

    /// Makes the call, at `endpoint` instead of the app's own where one is given.
    func ask(about id: String, at endpoint: EndpointURL? = nil) async throws -> Result {
        let curl = try CurlTransport(
            caFile: app.caFile, proxy: app.proxy, concerning: app.identity.bundleID)
        let transport = DatedTransport(transport: curl, wallClock: wallClock)
        let waits = Mutex<PacingWait?>(nil)
        let requests = app.requests(
            with: key, over: transport, at: endpoint,
            by: RunClock(now: wallClock, deadline: .now + Self.patience),
            rates: .documented(environment: app.identity.environment, share: 1), book: book,
            hear: { notice in
                guard case .wait(let wait) = notice.event else { return }
                waits.withLock { $0 = $0 ?? wait }
            })
        var answer = await Self.answer(of: requests, about: id)
        if case .rateLimited = answer, let wait = waits.withLock(\.self),
            case .quotaUsedUp(let calls) = wait.reason
        {
            answer = .shareUsedUp(calls: calls, until: wait.until)
        }
        await curl.shutdown()
        return (answer, transport.clockAheadMilliseconds)
    }

    private var book: (any QuotaBook)? {
        guard let store else { return nil }
        return NotedQuota(
            store: store, app: app.identity, rates: .allowed(by: app), now: wallClock)
    }

    private static func answer(of requests: PacedRequests, about id: String) async -> Answer {
        guard let id = TransactionID(id) ?? TransactionID(absentID) else {
            preconditionFailure("the absent id is a decimal number")
        }
        do throws(RunStop) {
            switch try await requests.send(.subscriptionStatuses(of: id)) {
            case .answered(let body):
                let response: StatusResponse
                do {
                    response = try StatusResponse(json: body)
                } catch {
                    return .unreadable(error.description)
                }
                let signed = (response.data ?? []).lazy.flatMap(\.lastTransactions)
                    .compactMap { $0?.signedTransactionInfo }.first
                return .accepted(response: response, signed: signed.map(Array.init))
            case .refused(_, let code, _) where code >= 4_000_000 && code < 5_000_000:
                return .accepted(response: nil, signed: nil)
            case .refused(let status, let code, let message):
                return .unreachable(
                    "status \(status), code \(code)" + (message.isEmpty ? "" : ": \(message)"))
            case .rateLimited: return .rateLimited
            case .unavailable(let text): return .unreachable(text)
            case .undecodable(let text): return .unreadable(text)
            }
        } catch {
            switch error {
            case .denied(let text): return .denied(text)
            case .misconfigured(let text): return .misconfigured(text)
            case .quotaWaitPastDeadline: return .rateLimited
            case .deadlineReached:
                return .unreachable("no answer within \(patience.components.seconds) seconds")
            case .cancelled: return .unreachable("stopped")
            case .store(let error): return .unreachable(error.description)
            }
        }
    }
}

/// Hands requests on and compares the clocks by the `Date` of the responses.
final class DatedTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let wallClock: @Sendable () -> Timestamp
    private let ahead = Mutex<Int64?>(nil)

    init(transport: any HTTPTransport, wallClock: @escaping @Sendable () -> Timestamp) {
        self.transport = transport
        self.wallClock = wallClock
    }

    var clockAheadMilliseconds: Int64? { ahead.withLock { $0 } }

    func send(_ request: HTTPRequest) async throws(HTTPTransportError) -> HTTPResponse {
        let response = try await transport.send(request)
        if let text = response.header("date"), let date = HTTPDate.unixMilliseconds(text) {
            // The header has whole seconds: its middle is the best guess.
            let difference = wallClock().unixMilliseconds - (date + 500)
            ahead.withLock { $0 = difference }
        }
        return response
    }
}
