import Foundation

/// One rule of a fault plan: a fault and its conditions, all of which must hold.
struct FaultRule: Sendable {
    var fault: Fault
    /// The fault's name in the plan.
    var name: String
    /// Empty for all endpoints.
    var endpoints: [Endpoint] = []
    var environment: SimulatedEnvironment?
    /// Ids in the path; empty for all.
    var ids: Set<String> = []
    /// Must match in method, path and query, as in `GET /inApps/v2/history/42?sort=DESCENDING`.
    var requestPattern: TextPattern?
    /// Must match in the request's body.
    var bodyPattern: TextPattern?
    /// The share of ids that are affected; always the same ones.
    var share = 1.0
    /// How many matching requests pass before the first one is affected.
    var skip = 0
    /// How many requests are affected at most.
    var count = Int.max
    /// Affects every n-th matching request.
    var every = 1
    /// When the rule begins, in seconds after the plan was set, and how long it lasts.
    var afterSeconds = 0.0
    var forSeconds = Double.infinity
    /// Added to the time until the answer.
    var delayMilliseconds: Int64 = 0
    /// Whether the rules behind it are also considered when this one fires.
    var combines = false

    /// Whether the conditions on the request hold; counts are checked elsewhere.
    func concerns(_ request: FaultSubject, age: Double) -> Bool {
        if case .connection = fault { return false }
        if !endpoints.isEmpty, !endpoints.contains(request.endpoint) { return false }
        if !ids.isEmpty, !ids.contains(request.id) { return false }
        guard holds(in: request.environment, age: age) else { return false }
        if case .expiredToken = fault, !request.request.carriesPageToken { return false }
        if let requestPattern, !requestPattern.matches(request.request.line) { return false }
        if let bodyPattern, !bodyPattern.matches(request.request.bodyText) { return false }
        return share >= 1 || Self.point(of: request.id) < share
    }

    /// Whether the conditions on environment and time hold; `age` is the plan's, in seconds.
    func holds(in environment: SimulatedEnvironment, age: Double) -> Bool {
        if let wanted = self.environment, wanted != environment { return false }
        return age >= afterSeconds && age < afterSeconds + forSeconds
    }

    /// A number from 0 to 1 that depends on the text alone.
    static func point(of text: String) -> Double {
        SeededRandom.fraction(of: PageTokens.digest(Array(text.utf8)))
    }
}

/// What rules check about a request.
struct FaultSubject: Sendable {
    let endpoint: Endpoint
    /// The id in the path.
    let id: String
    let environment: SimulatedEnvironment
    let request: ServiceRequest
}

extension ServiceRequest {
    /// Method, path and query in one text, decoded.
    fileprivate var line: String {
        let pairs = query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        let target = "/" + path.joined(separator: "/")
        return "\(method) \(pairs.isEmpty ? target : target + "?" + pairs)"
    }

    fileprivate var bodyText: String { String(decoding: body, as: UTF8.self) }

    fileprivate var carriesPageToken: Bool { pageTokenFailure != nil }

    /// Apple's error if this request's page token has expired; `nil` without a page token.
    var pageTokenFailure: APIFailure? {
        if value("paginationToken")?.isEmpty == false { return .paginationTokenExpired }
        return value("revision")?.isEmpty == false ? .invalidRequestRevision : nil
    }
}

/// A regular expression of a fault plan, compiled once.
struct TextPattern: Sendable {
    private let expression: NSRegularExpression

    init(_ text: String, key: String) throws(SimulatorError) {
        do {
            expression = try NSRegularExpression(pattern: text)
        } catch {
            throw .badOption("\"\(key)\" is not a regular expression: \(text)")
        }
    }

    /// Whether it matches anywhere in a text.
    func matches(_ text: String) -> Bool {
        let range = NSRange(text.startIndex..., in: text)
        return expression.firstMatch(in: text, range: range) != nil
    }
}
