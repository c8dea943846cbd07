/// When a fault happens, and which: one entry of a fault plan.
///
/// Every member but `fault` is optional; those given must all hold.
struct FaultRule: Sendable {
    var fault: Fault
    /// The text of `fault` in the plan.
    var name: String
    /// Endpoint names, or none for all.
    var endpoints: [Endpoint] = []
    var environment: SimulatedEnvironment?
    /// Ids in the path, or none for all.
    var ids: Set<String> = []
    /// Must occur in method, path and query, as in `GET /inApps/v2/history/42?sort=DESCENDING`.
    var requestPattern: TextPattern?
    /// Must occur in the request's body.
    var bodyPattern: TextPattern?
    /// The share of ids that are affected: always the same ones.
    var share = 1.0
    /// So many matching requests pass first.
    var skip = 0
    /// So many are affected at most.
    var count = Int.max
    /// Of the matching requests every so manieth is affected.
    var every = 1
    /// Seconds after the plan was set from which it holds, and how long.
    var afterSeconds = 0.0
    var forSeconds = Double.infinity
    /// Waited before anything else.
    var delayMilliseconds: Int64 = 0
    /// Whether the rules behind it are looked at, too, where this one fires.
    var combines = false

    /// Whether a request is one that the rule is about, whatever its count says.
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

    /// Whether the rule holds at this age of the plan.
    func holds(in environment: SimulatedEnvironment, age: Double) -> Bool {
        if let wanted = self.environment, wanted != environment { return false }
        return age >= afterSeconds && age < afterSeconds + forSeconds
    }

    /// Where a text lies between 0 and 1: the same at every time.
    static func point(of text: String) -> Double {
        Double(PageTokens.digest(Array(text.utf8)) >> 11) * 0x1.0p-53
    }
}

/// A request as rules look at it.
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

    /// How Apple refuses the page token of this request when it has expired.
    var pageTokenFailure: APIFailure? {
        if value("paginationToken")?.isEmpty == false { return .paginationTokenExpired }
        return value("revision")?.isEmpty == false ? .invalidRequestRevision : nil
    }
}
