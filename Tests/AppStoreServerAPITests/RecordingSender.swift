import AppStoreServerAPI
import Subscriptions
import Synchronization

/// A sender that answers everything alike and remembers what it was asked.
final class RecordingSender: APISending {
    private struct State {
        var requests: [APIRequest] = []
        var undecodable: [Endpoint] = []
    }

    private let outcome: APIOutcome
    private let state = Mutex(State())

    init(outcome: APIOutcome) {
        self.outcome = outcome
    }

    convenience init(body: String) {
        self.init(outcome: .answered(body: Array(body.utf8)))
    }

    var requests: [APIRequest] { state.withLock { $0.requests } }

    var undecodable: [Endpoint] { state.withLock { $0.undecodable } }

    func send(_ request: APIRequest) async throws(RunStop) -> APIOutcome {
        state.withLock { $0.requests.append(request) }
        return outcome
    }

    func givenUp(_ endpoint: Endpoint) -> String? { nil }

    func callCounts() -> [CallCount] { [] }

    func countUndecodable(_ endpoint: Endpoint) {
        state.withLock { $0.undecodable.append(endpoint) }
    }
}
