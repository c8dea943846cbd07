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

    init(_ reading: Reading) {
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
