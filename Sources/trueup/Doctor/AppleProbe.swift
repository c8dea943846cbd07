import AppStoreServerAPI
import HTTPTransport
import JSONWebSignature
import SubscriptionStore
import Subscriptions
import Synchronization

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

    struct Result {
        let answer: Answer
        /// This machine's clock minus the server's; `nil` where no date came.
        let clockAheadMilliseconds: Int64?
    }

    let app: AppSettings
    let key: ES256PrivateKey
    /// Whose processes share the quota; `nil` where no database can be read.
    let store: SQLiteStore?
    let wallClock: @Sendable () -> Timestamp

    /// Makes the call, at `endpoint` instead of the app's own where one is given.
    func ask(about id: String, at endpoint: EndpointURL? = nil) async throws -> Result {
        let curl = try AppConnection.transport(for: app)
        let transport = DatedTransport(transport: curl, wallClock: wallClock)
        let waits = Mutex<PacingWait?>(nil)
        let requests = PacedRequests(
            app: app.identity, keyID: app.keyID, baseURL: (endpoint ?? app.endpoint).url,
            transport: transport,
            tokens: AppStoreServerTokens(
                issuerID: app.issuerID, keyID: app.keyID, bundleID: app.identity.bundleID,
                key: key, now: wallClock),
            rates: .documented(environment: app.identity.environment, share: 1), book: book,
            deadline: ContinuousClock.now + Self.patience, clock: ContinuousClock(),
            wallClock: wallClock,
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
        return Result(answer: answer, clockAheadMilliseconds: transport.clockAheadMilliseconds)
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
