import Crypto
import Subscriptions

/// The last answered requests, each with its number since the log began.
///
/// Their memory is bounded: older requests make room for new ones, and long targets are cut.
struct RecentRequests: Sendable {
    static let capacity = 10_000
    private static let longestTarget = 512

    /// One answered request.
    struct Request: Sendable {
        /// When it was answered, in real time.
        let date: Timestamp
        let method: String
        /// Path and query as sent.
        let target: String
        /// `other` for a path that is not an endpoint's.
        let endpoint: String
        let token: TokenDigest?
        let protocolName: String
        /// 0 if the connection was closed instead of an answer.
        let status: Int
        /// Names of the faults that were applied.
        let faults: [String]
        let duration: Duration
        fileprivate(set) var number = 0

        init(
            date: Timestamp, method: String, target: String, endpoint: String,
            token: TokenDigest?, protocolName: String, status: Int, faults: [String],
            duration: Duration
        ) {
            self.date = date
            self.method = method
            self.target = String(target.prefix(longestTarget))
            self.endpoint = endpoint
            self.token = token
            self.protocolName = protocolName
            self.status = status
            self.faults = faults
            self.duration = duration
        }

        var line: String { "\(method) \(target)" }
    }

    private var kept: [Request] = []
    /// How many were answered since the log began; the number of the last one.
    private(set) var count = 0

    mutating func keep(_ request: Request) {
        var request = request
        count += 1
        request.number = count
        if kept.count < Self.capacity {
            kept.append(request)
        } else {
            kept[(count - 1) % Self.capacity] = request
        }
    }

    /// The number of the oldest request that is kept.
    var firstKept: Int { count - kept.count + 1 }

    /// The kept requests after a number, oldest first.
    func after(_ number: Int) -> some Sequence<Request> {
        let first = max(firstKept, number == .max ? count + 1 : number + 1)
        return (first..<max(first, count + 1)).lazy.map { kept[($0 - 1) % Self.capacity] }
    }

    /// The last requests, oldest first.
    func last(_ number: Int) -> some Sequence<Request> { after(count - number) }
}

/// The first eight bytes of a token's SHA-256: it tells tokens apart without showing them.
struct TokenDigest: Hashable, Sendable {
    let number: UInt64

    /// `authorization`: the value of the header; "Bearer " does not count.
    init(authorization: String) {
        let scheme = "Bearer "
        let token =
            authorization.hasPrefix(scheme)
            ? authorization.dropFirst(scheme.count) : authorization[...]
        number = SHA256.hash(data: Array(token.utf8)).prefix(8).reduce(0) {
            $0 << 8 | UInt64($1)
        }
    }

    /// Sixteen hexadecimal digits.
    var text: String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension RecentRequests.Request {
    func write(into json: inout JSONWriter, environment: SimulatedEnvironment) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        json.object { json in
            json.field("number", number)
            json.field("at", date.rfc3339)
            json.field("environment", environment.rawValue)
            json.field("method", method)
            json.field("path", parts.first.map(String.init))
            json.field("query", parts.count > 1 ? String(parts[1]) : nil)
            json.field("endpoint", endpoint)
            json.field("token", token?.text)
            json.field("protocol", protocolName)
            json.field("status", status)
            json.key("faults")
            json.array { json in
                for fault in faults { json.string(fault) }
            }
            json.field(
                "milliseconds",
                duration.components.seconds * 1000
                    + duration.components.attoseconds / 1_000_000_000_000_000)
        }
    }
}
