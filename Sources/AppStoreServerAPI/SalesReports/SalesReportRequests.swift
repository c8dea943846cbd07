package import HTTPTransport
import JSONWebSignature
package import Subscriptions

/// Gets sales reports from App Store Connect's API, one after the other.
///
/// Source: App Store Connect API, Download sales and trends reports; Identifying rate limits.
package struct SalesReportRequests {
    /// The answer to the question for one report.
    package enum Answer: Sendable {
        /// The report, packed with gzip.
        case report([UInt8])
        /// App Store Connect has none; the text says why.
        case noData(String)
    }

    /// The reason why no further report can be got.
    package enum Failure: Error, Hashable, Sendable {
        /// The key was refused, or may not read sales reports.
        case denied(String)
        /// The question is wrong: the vendor number, or the address.
        case misconfigured(String)
        case unavailable(String)
        /// The answer is not App Store Connect's.
        case undecodable(String)
        case cancelled
    }

    package static let callsPerHour = 3600
    private static let policy = RetryPolicy(retriedCodes: [])
    /// Shorter waits are not worth a line.
    private static let shortestReportedWait = Duration.seconds(2)

    private let baseURL: String
    private let vendorNumber: String
    private let keyID: String
    private let transport: any HTTPTransport
    private let tokens: any AuthorizationTokens
    private let wallClock: @Sendable () -> Timestamp
    private let hear: @Sendable (PacingWait) -> Void
    private let time: MonotonicTime
    private var budget = HourlyBudget(limit: callsPerHour)
    private var generator = SystemRandomNumberGenerator()
    /// The versions that App Store Connect accepts; a refusal names its newest one.
    private var versions: [SalesReport: String] = [
        .subscription: "1_4", .event: "1_3", .subscriber: "1_3",
    ]

    /// - Parameters:
    ///   - baseURL: Scheme and host.
    ///   - vendorNumber: Whose reports are meant.
    ///   - keyID: The key's id, for messages.
    ///   - transport: Sends the calls.
    ///   - tokens: Tokens of a team key.
    ///   - clock: By which waits are measured.
    ///   - wallClock: The present.
    ///   - hear: Is told of every wait that a person would notice.
    package init<C: Clock>(
        baseURL: String, vendorNumber: String, keyID: String, transport: any HTTPTransport,
        tokens: any AuthorizationTokens, clock: C = ContinuousClock(),
        wallClock: @escaping @Sendable () -> Timestamp,
        hear: @escaping @Sendable (PacingWait) -> Void
    ) where C.Duration == Duration {
        self.baseURL = baseURL
        self.vendorNumber = vendorNumber
        self.keyID = keyID
        self.transport = transport
        self.tokens = tokens
        self.wallClock = wallClock
        self.hear = hear
        time = MonotonicTime(clock, start: clock.now)
    }

    /// Gets one report.
    ///
    /// A failed call is repeated, after the pause that the answer orders or a random one.
    ///
    /// - Parameters:
    ///   - report: Which one.
    ///   - day: Days since 1970-01-01, in the zone of the account's reports.
    /// - Returns: The report, or why there is none.
    /// - Throws: `Failure` when no further report can be got now.
    package mutating func get(
        _ report: SalesReport, ofDay day: Int64
    ) async throws(Failure) -> Answer {
        var attempts = 0
        var refusedToken: String?
        var hasOtherVersion = false
        while true {
            let token = try token(after: refusedToken)
            switch try await exchange(request(report, ofDay: day), token: token) {
            case .failure(let error):
                attempts += 1
                try await pause(
                    after: .connection, "\(host) did not answer: \(error)", attempts)
            case .success(let response):
                switch response.status {
                case 200: return .report(try Self.packed(response))
                case 400:
                    let said = try refusal(response)
                    guard !hasOtherVersion, let version = Self.latestVersion(in: said) else {
                        throw .misconfigured(
                            "App Store Connect refuses the question for \(report.rawValue): "
                                + "\(said). Check vendor_number.")
                    }
                    hasOtherVersion = true
                    versions[report] = version
                case 401:
                    guard refusedToken == nil else { throw denial(response) }
                    refusedToken = token
                case 403:
                    throw .denied(
                        "App Store Connect does not let the key \(keyID) read sales reports: "
                            + "\(try refusal(response)). Give the key the role Finance, Sales or "
                            + "Admin in Users and Access, Integrations, and check vendor_number.")
                case 404, 410: return .noData(try refusal(response))
                case 429, 500...599:
                    attempts += 1
                    let cause =
                        response.status == 429
                        ? "App Store Connect's limit of calls is used up (429)"
                        : "\(host) answered \(response.status)"
                    try await pause(
                        after: .answer(status: response.status, code: nil), cause, attempts,
                        ordered: response.header("retry-after"))
                default:
                    throw .undecodable(
                        "\(host) answered \(response.foreignText), which is not "
                            + "App Store Connect's form.")
                }
            }
        }
    }

    // MARK: One call

    private var host: String {
        let start = baseURL.firstRange(of: "://")?.upperBound ?? baseURL.startIndex
        return String(baseURL[start...])
    }

    private func request(_ report: SalesReport, ofDay day: Int64) -> HTTPRequest {
        let filters = [
            ("frequency", "DAILY"), ("reportDate", CivilDate.text(ofDay: day)),
            ("reportSubType", report == .subscriber ? "DETAILED" : "SUMMARY"),
            ("reportType", report.rawValue), ("vendorNumber", vendorNumber),
            ("version", versions[report] ?? ""),
        ]
        let query = filters.map { "filter%5B\($0)%5D=\(APIRequest.percentEncoded($1))" }
        var request = HTTPRequest(
            method: "GET", url: baseURL + "/v1/salesReports?" + query.joined(separator: "&"),
            headers: [("Accept", "application/a-gzip, application/json")])
        request.keepsEncoding = true
        return request
    }

    private mutating func exchange(
        _ request: HTTPRequest, token: String
    ) async throws(Failure) -> Result<HTTPResponse, HTTPTransportError> {
        let now = time.now()
        let turn = budget.earliest(from: now)
        if turn > now {
            try await wait(.quotaUsedUp(callsPerHour: Self.callsPerHour), until: turn, from: now)
        }
        budget.callWasMade(at: turn)
        var request = request
        request.headers.append(("Authorization", "Bearer \(token)"))
        do throws(HTTPTransportError) {
            return .success(try await transport.send(request))
        } catch {
            switch error {
            case .connectionFailed, .timedOut, .connectionLost: return .failure(error)
            case .untrustedServer(let text): throw .unavailable(text + ".")
            case .bodyTooLarge, .malformedResponse: throw .undecodable("\(host): \(error).")
            case .cancelled: throw .cancelled
            case .invalidRequest(let text): throw .misconfigured(text + ".")
            }
        }
    }

    private func token(after refused: String?) throws(Failure) -> String {
        do throws(JSONWebSignatureError) {
            guard let refused else { return try tokens.current() }
            return try tokens.renewed(after: refused)
        } catch {
            throw .denied("The key could not sign a token: \(error).")
        }
    }

    // MARK: Waits

    private mutating func pause(
        after failure: RetryPolicy.Failure, _ cause: String, _ attempts: Int,
        ordered: String? = nil
    ) async throws(Failure) {
        let now = time.now()
        guard
            let random = Self.policy.pause(after: failure, attempts: attempts, using: &generator)
        else {
            throw .unavailable(
                "\(cause), \(attempts) times in a row. Run the command again later; it continues "
                    + "with the reports that are missing.")
        }
        let wanted = RetryAfter.wait(
            for: ordered, nowUnixMilliseconds: wallClock().unixMilliseconds)
        let isLimit = failure == .answer(status: 429, code: nil)
        try await wait(
            isLimit ? .rateLimited : .postponed, until: now + (wanted ?? random), from: now)
    }

    private func wait(
        _ reason: PacingWait.Reason, until end: Duration, from now: Duration
    ) async throws(Failure) {
        if end - now >= Self.shortestReportedWait {
            hear(
                PacingWait(
                    reason: reason, until: wallClock().adding(end - now), isPastDeadline: false))
        }
        do {
            try await time.sleep(end)
        } catch {
            throw .cancelled
        }
    }

    // MARK: Answers

    /// The body of a 200, which must be a file of gzip.
    private static func packed(_ response: HTTPResponse) throws(Failure) -> [UInt8] {
        guard response.body.starts(with: [0x1F, 0x8B]) else {
            throw .undecodable(
                "The answer is not a file of gzip: a proxy or a portal may have answered, not App "
                    + "Store Connect.")
        }
        return response.body
    }

    /// The words of a refusal.
    ///
    /// - Throws: `undecodable` where the refusal is not its own.
    private func refusal(_ response: HTTPResponse) throws(Failure) -> String {
        guard let text = Self.detail(response.body), !text.isEmpty else {
            throw .undecodable(
                "\(host) answered \(response.foreignText), which is not App Store "
                    + "Connect's form.")
        }
        return text.hasSuffix(".") ? String(text.dropLast()) : text
    }

    private static func detail(_ body: [UInt8]) -> String? {
        guard let document = try? JSONDocument(body), var members = JSONMembers(document.root),
            let error = members.take("errors")?.elements.first, var said = JSONMembers(error)
        else { return nil }
        let title = said.take("title")?.text
        return ResponseReading.plain(said.take("detail")?.text ?? title)
    }

    /// For example `1_4` in "The latest version for this report is 1_4".
    private static func latestVersion(in text: String) -> String? {
        guard text.lowercased().contains("latest version") else { return nil }
        return text.firstMatch(of: /[0-9]{1,3}_[0-9]{1,3}/).map { String($0.output) }
    }

    private func denial(_ response: HTTPResponse) -> Failure {
        let cause = ClockSkew.probableCause(
            serverDate: response.header("date"), wallClock: wallClock())
        return .denied(
            "App Store Connect refuses the key \(keyID): it answers 401, even to a new token. "
                + (cause
                    ?? "Probably the key was revoked or is not a team key of the App Store Connect "
                    + "API, or key_id, issuer_id and the key file do not belong together."))
    }
}
