import Subscriptions

/// Counts every HTTP attempt once, by endpoint and result.
struct CallCounter {
    private struct Key: Hashable {
        let endpoint: Endpoint
        let result: CallResult
    }

    private var calls: [Key: Int] = [:]

    mutating func attemptEnded(_ endpoint: Endpoint, _ result: CallResult) {
        calls[Key(endpoint: endpoint, result: result), default: 0] += 1
    }

    /// A 200 that was counted as answered could not be decoded.
    mutating func answerWasUndecodable(_ endpoint: Endpoint) {
        let ok = Key(endpoint: endpoint, result: .ok)
        if let count = calls[ok], count > 0 { calls[ok] = count > 1 ? count - 1 : nil }
        attemptEnded(endpoint, .undecodable)
    }

    /// In the order of the endpoints and results.
    var counts: [CallCount] {
        Endpoint.allCases.flatMap { endpoint in
            CallResult.allCases.compactMap { result in
                calls[Key(endpoint: endpoint, result: result)].map {
                    CallCount(endpoint: endpoint.rawValue, result: result.rawValue, calls: $0)
                }
            }
        }
    }
}

/// How an HTTP attempt ended, as `CallCount` names it.
enum CallResult: String, Hashable, CaseIterable {
    case ok
    case notFound = "not_found"
    case rateLimited = "rate_limited"
    case serverError = "server_error"
    case connection
    case undecodable
    case refused
    case unauthorized

    init(_ reading: ResponseReading) {
        self =
            switch reading {
            case .answered: .ok
            case .unauthorized: .unauthorized
            case .rateLimited: .rateLimited
            case .misconfigured: .refused
            case .refused(404, _, _): .notFound
            case .refused: .refused
            case .failed: .serverError
            case .foreign: .refused
            case .undecodable: .undecodable
            }
    }
}
