/// What goes wrong with one answer.
enum Fault: Sendable {
    /// Apple's error body with this code.
    case failure(code: Int, message: String)
    /// Any status with any body.
    case status(Int, contentType: String?, body: String, headers: [(name: String, value: String)])
    /// 429 with a `Retry-After` in some form.
    case rateLimited(RetryAfterForm, waitSeconds: Int64)
    case unauthorized
    /// The answer comes, later.
    case delay
    /// The connection ends after part of the body.
    case reset(afterBytes: Int)
    /// The whole connection is closed, with all that is in flight on it.
    case dropConnection
    /// The body comes in single bytes.
    case drip(intervalMilliseconds: Int64)
    /// The body ends early, in good order.
    case cut(afterBytes: Int)
    /// The body never ends.
    case endless
    /// The answer is falsified.
    case distorted(Distortion)
}

/// The forms in which a `Retry-After` may come; Apple's is the first.
enum RetryAfterForm: String, Sendable, CaseIterable {
    case unixMilliseconds = "unix_milliseconds"
    case unixSeconds = "unix_seconds"
    case delaySeconds = "delay_seconds"
    case httpDate = "http_date"
    case missing
    case garbage
    case past
    case yearAhead = "year_ahead"

    /// The header's value, or `nil` for none.
    func value(unixMilliseconds now: Int64, waitSeconds: Int64) -> String? {
        let moment = now + waitSeconds * 1000
        switch self {
        case .unixMilliseconds: return String(moment)
        case .unixSeconds: return String((moment + 999) / 1000)
        case .delaySeconds: return String(waitSeconds)
        case .httpDate: return HTTPDate.text(unixSeconds: (moment + 999) / 1000)
        case .missing: return nil
        case .garbage: return "soon, perhaps"
        case .past: return String(now - 60_000)
        case .yearAhead: return String(now + 365 * 86_400_000)
        }
    }
}
