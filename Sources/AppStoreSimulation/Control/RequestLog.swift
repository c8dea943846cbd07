import Subscriptions
import Synchronization

/// Statistics of the requests: counts by endpoint and id, concurrency, tokens, protocols.
///
/// Its memory is bounded, whatever the number of requests and tokens.
final class RequestLog: Sendable {
    /// How many different ids of one endpoint are counted separately.
    private static let countedIDs = 500_000
    /// How many other texts are counted separately; they need more memory.
    private static let countedTexts = 1000
    private static let longestText = 64
    /// How many different tokens and connections are counted.
    private static let distinctValues = 65_536

    struct EndpointCounts: Sendable {
        var total = 0
        var byStatus: [Int: Int] = [:]
        var byNumber: [UInt64: UInt32] = [:]
        var byText: [String: Int] = [:]

        /// Counts an id; decimal numbers are stored without their text.
        mutating func count(_ id: String) {
            if let number = UInt64(id), String(number) == id {
                guard byNumber.count < countedIDs || byNumber[number] != nil else { return }
                byNumber[number, default: 0] &+= 1
                return
            }
            let text = String(id.prefix(longestText))
            guard byText.count < countedTexts || byText[text] != nil else { return }
            byText[text, default: 0] += 1
        }
    }

    struct Snapshot: Sendable {
        var endpoints: [String: EndpointCounts] = [:]
        var inFlight = 0
        var peakConcurrency = 0
        /// Digests, because a token has four hundred bytes.
        var tokens: Set<UInt64> = []
        var connections: Set<UInt64> = []
        var byProtocol: [String: Int] = [:]
        var total = 0
        var recent = RecentRequests()
    }

    private let state = Mutex(Snapshot())

    /// What is known of a request when it arrives.
    struct Arrival: Sendable {
        let token: TokenDigest?
        let protocolName: String
        let at: ContinuousClock.Instant
    }

    /// `authorization`: the value of the header.
    func begin(authorization: String?, connection: String, protocolName: String) -> Arrival {
        let token = authorization.map { TokenDigest(authorization: $0) }
        let connection = PageTokens.digest(Array(connection.utf8))
        state.withLock { state in
            state.total += 1
            state.inFlight += 1
            state.peakConcurrency = max(state.peakConcurrency, state.inFlight)
            if let token, state.tokens.count < Self.distinctValues {
                state.tokens.insert(token.number)
            }
            if state.connections.count < Self.distinctValues {
                state.connections.insert(connection)
            }
            state.byProtocol[protocolName, default: 0] += 1
        }
        return Arrival(token: token, protocolName: protocolName, at: .now)
    }

    /// `status`: 0 if the connection was closed instead of an answer.
    func end(
        _ arrival: Arrival, endpoint: String, id: String, status: Int, method: String,
        target: String, faults: [String] = []
    ) {
        let request = RecentRequests.Request(
            date: SimulatedClock.realNow, method: method, target: target, endpoint: endpoint,
            token: arrival.token, protocolName: arrival.protocolName, status: status,
            faults: faults, duration: .now - arrival.at)
        state.withLock { state in
            state.inFlight -= 1
            state.recent.keep(request)
            state.endpoints[endpoint, default: EndpointCounts()].total += 1
            state.endpoints[endpoint]?.byStatus[status, default: 0] += 1
            state.endpoints[endpoint]?.count(id)
        }
    }

    var snapshot: Snapshot { state.withLock { $0 } }

    /// Resets all counts except that of the requests in flight.
    func reset() {
        state.withLock { state in
            let inFlight = state.inFlight
            state = Snapshot()
            state.inFlight = inFlight
            state.peakConcurrency = inFlight
        }
    }
}

extension RequestLog.Snapshot {
    /// Writes the log for the control call.
    func write(into json: inout JSONWriter) {
        json.field("total", total)
        json.field("in_flight", inFlight)
        json.field("peak_concurrency", peakConcurrency)
        json.field("distinct_tokens", tokens.count)
        json.field("connections", connections.count)
        json.key("protocols")
        json.object { json in
            for (name, count) in byProtocol.sorted(by: { $0.key < $1.key }) {
                json.field(name, count)
            }
        }
        json.key("endpoints")
        json.object { json in
            for (name, counts) in endpoints.sorted(by: { $0.key < $1.key }) {
                json.key(name)
                json.object { counts.write(into: &$0) }
            }
        }
    }
}

extension RequestLog.EndpointCounts {
    func write(into json: inout JSONWriter) {
        json.field("total", total)
        json.field("distinct_ids", byNumber.count + byText.count)
        json.key("statuses")
        json.object { json in
            for (status, count) in byStatus.sorted(by: { $0.key < $1.key }) {
                json.field(String(status), count)
            }
        }
        json.key("ids")
        json.object { json in
            for (id, count) in byNumber.sorted(by: { $0.key < $1.key }) {
                json.field(String(id), count)
            }
            for (id, count) in byText.sorted(by: { $0.key < $1.key }) { json.field(id, count) }
        }
    }
}
