import AppStoreServerAPI
import HTTPTransport
import Subscriptions
import Synchronization

/// Answers requests from a script and keeps what it was asked.
final class ScriptedApple: HTTPTransport {
    typealias Script =
        @Sendable (_ request: HTTPRequest, _ number: Int) async throws(HTTPTransportError) ->
        HTTPResponse

    private let script: Script
    private let seen = Mutex<[HTTPRequest]>([])

    init(_ script: @escaping Script) { self.script = script }

    var requests: [HTTPRequest] { seen.withLock { $0 } }

    func send(_ request: HTTPRequest) async throws(HTTPTransportError) -> HTTPResponse {
        let number = seen.withLock { seen in
            seen.append(request)
            return seen.count
        }
        return try await script(request, number)
    }
}

extension HTTPRequest {
    /// The id that is asked for: the last part of the path.
    var id: Int { url.split(separator: "/").last.flatMap { Int($0) } ?? 0 }
}

extension HTTPResponse {
    static func answer(
        _ status: Int, _ body: String = "{}",
        headers: [(name: String, value: String)] = [("content-type", "application/json")]
    ) -> HTTPResponse {
        HTTPResponse(status: status, headers: headers, body: Array(body.utf8), version: "HTTP/2")
    }

    static func error(_ code: Int, message: String = "m") -> HTTPResponse {
        answer(code / 10_000, #"{"errorCode":\#(code),"errorMessage":"\#(message)"}"#)
    }
}

/// Hands out `token-1`, `token-2` and so on.
final class NumberedTokens: AuthorizationTokens {
    private let number = Mutex(1)

    var issued: Int { number.withLock { $0 } }

    func current() -> String { "token-\(issued)" }

    func renewed(after rejected: String) -> String {
        number.withLock { number in
            if rejected == "token-\(number)" { number += 1 }
            return "token-\(number)"
        }
    }
}

/// A driver with everything that a test does not care about filled in.
struct Bench {
    /// 2026-11-20T03:17:04Z.
    static let now: Int64 = 1_795_144_624_000

    let apple: ScriptedApple
    let tokens = NumberedTokens()
    let clock: JumpingClock
    let requests: PacedRequests

    init(
        environment: AppStoreEnvironment = .production, ratePerSecond: Double = 1000,
        concurrencyLimit: Int = 100, deadline: Duration? = nil,
        script: @escaping ScriptedApple.Script
    ) {
        self.init(
            apple: ScriptedApple(script), clock: JumpingClock(), environment: environment,
            ratePerSecond: ratePerSecond, concurrencyLimit: concurrencyLimit, deadline: deadline)
    }

    init(
        apple: ScriptedApple, clock: JumpingClock, environment: AppStoreEnvironment = .production,
        ratePerSecond: Double = 1000, concurrencyLimit: Int = 100, deadline: Duration? = nil,
        book: (any QuotaBook)? = nil, earlierRefusals: [Endpoint: QuotaRefusal] = [:],
        hear: @escaping @Sendable (OutageNotice) -> Void = { _ in },
        hearAll: @escaping @Sendable (PacingNotice) -> Void = { _ in },
        order: @escaping @Sendable (_ elapsed: Duration) -> PaceOrder = { _ in PaceOrder() }
    ) {
        self.apple = apple
        self.clock = clock
        requests = PacedRequests(
            app: AppIdentity(bundleID: "com.example.app", environment: environment),
            keyID: "2X9R4HXF34", baseURL: "https://127.0.0.1:1/", transport: apple, tokens: tokens,
            rates: .uniform(requestsPerSecond: ratePerSecond), book: book,
            earlierRefusals: earlierRefusals, concurrencyLimit: concurrencyLimit,
            deadline: deadline.map { clock.now.advanced(by: $0) }, clock: clock,
            wallClock: {
                let (seconds, attoseconds) = clock.elapsed.components
                return Timestamp(
                    unixMilliseconds: Self.now + seconds * 1000
                        + attoseconds / 1_000_000_000_000_000)
            },
            hear: { notice in
                hearAll(notice)
                if case .outage(let outage) = notice.event { hear(outage) }
            }, order: { order(clock.elapsed) }, seed: 7)
    }

    /// Asks for the statuses of an id.
    func ask(
        _ endpoint: Endpoint = .subscriptionStatuses, id: Int = 1
    ) async -> Result<APIOutcome, RunStop> {
        do throws(RunStop) {
            return .success(
                try await requests.send(
                    APIRequest(endpoint: endpoint, path: "/inApps/v1/subscriptions/\(id)")))
        } catch {
            return .failure(error)
        }
    }

    /// Asks for the ids in their order, as many at once as a run does.
    func ask(ids: [Int]) async -> [Int: String] {
        await withTaskGroup(of: (Int, String).self) { group in
            var waiting = ids.makeIterator()
            var words: [Int: String] = [:]
            func addNext() {
                guard let id = waiting.next() else { return }
                group.addTask { (id, await ask(id: id).word) }
            }
            for _ in 0..<32 { addNext() }
            for await (id, word) in group {
                words[id] = word
                addNext()
            }
            return words
        }
    }

    /// Asks `count` times at once.
    func crowd(_ count: Int) async -> [Result<APIOutcome, RunStop>] {
        await withTaskGroup(of: Result<APIOutcome, RunStop>.self) { group in
            for _ in 0..<count { group.addTask { await ask() } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    func calls(
        _ result: String, _ endpoint: Endpoint = .subscriptionStatuses
    ) -> Int {
        requests.callCounts().filter { $0.endpoint == endpoint.rawValue && $0.result == result }
            .reduce(0) { $0 + $1.calls }
    }
}

/// Outcomes as short words, which compare and print well.
extension Result where Success == APIOutcome, Failure == RunStop {
    var word: String {
        switch self {
        case .success(.answered(let body)): "answered \(String(decoding: body, as: UTF8.self))"
        case .success(.refused(let status, let code, let message)):
            "refused \(status) \(code) \(message)"
        case .success(.rateLimited): "rateLimited"
        case .success(.unavailable(let text)): "unavailable \(text)"
        case .success(.undecodable(let text)): "undecodable \(text)"
        case .failure(.denied(let text)): "denied \(text)"
        case .failure(.misconfigured(let text)): "misconfigured \(text)"
        case .failure(.quotaWaitPastDeadline(let until)): "past deadline \(until.rfc3339)"
        case .failure(.deadlineReached): "deadline"
        case .failure(.cancelled): "cancelled"
        case .failure(.store(let error)): "store \(error)"
        }
    }
}
