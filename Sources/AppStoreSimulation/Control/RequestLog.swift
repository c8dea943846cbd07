import Synchronization

/// What clients asked, for tests to read: counts by endpoint and id, concurrency, tokens, protocol.
final class RequestLog: Sendable {
    /// Beyond so many different ids of one endpoint, further ones are only counted in total.
    private static let countedIDs = 500_000

    struct EndpointCounts: Sendable {
        var total = 0
        var byStatus: [Int: Int] = [:]
        var byID: [String: Int] = [:]
    }

    struct Snapshot: Sendable {
        var endpoints: [String: EndpointCounts] = [:]
        var inFlight = 0
        var peakConcurrency = 0
        var tokens: Set<String> = []
        var connections: Set<String> = []
        var byProtocol: [String: Int] = [:]
        var total = 0
    }

    private let state = Mutex(Snapshot())

    func begin(token: String?, connection: String, protocolName: String) {
        state.withLock { state in
            state.total += 1
            state.inFlight += 1
            state.peakConcurrency = max(state.peakConcurrency, state.inFlight)
            if let token { state.tokens.insert(token) }
            state.connections.insert(connection)
            state.byProtocol[protocolName, default: 0] += 1
        }
    }

    /// `status`: 0 where the connection was cut instead of an answer.
    func end(endpoint: String, id: String, status: Int) {
        state.withLock { state in
            state.inFlight -= 1
            state.endpoints[endpoint, default: EndpointCounts()].total += 1
            state.endpoints[endpoint]?.byStatus[status, default: 0] += 1
            if (state.endpoints[endpoint]?.byID.count ?? 0) < Self.countedIDs {
                state.endpoints[endpoint]?.byID[id, default: 0] += 1
            }
        }
    }

    var snapshot: Snapshot { state.withLock { $0 } }

    /// Forgets everything but the requests that are being answered.
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
    /// As the control call answers it.
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
        json.field("distinct_ids", byID.count)
        json.key("statuses")
        json.object { json in
            for (status, count) in byStatus.sorted(by: { $0.key < $1.key }) {
                json.field(String(status), count)
            }
        }
        json.key("ids")
        json.object { json in
            for (id, count) in byID.sorted(by: { $0.key < $1.key }) {
                json.field(id, count)
            }
        }
    }
}
