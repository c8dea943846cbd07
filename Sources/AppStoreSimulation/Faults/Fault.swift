/// What goes wrong with one answer, or with a connection.
enum Fault: Sendable {
    /// Apple's error body with this code.
    case failure(code: Int, message: String)
    /// Any status with any body.
    case status(Int, contentType: String?, body: String, headers: [(name: String, value: String)])
    /// 429 with a `Retry-After` in some form.
    case rateLimited(RetryAfterForm, waitSeconds: Int64)
    /// 429 until one moment, which is the same in every answer; then the quota is full again.
    case quotaUsedUp(RetryAfterForm, waitSeconds: Int64)
    case unauthorized
    /// A page token or revision in the request is no longer accepted.
    case expiredToken
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
    /// The body has so many bytes less than its `Content-Length` says, or more where negative.
    case wrongLength(missingBytes: Int)
    /// The connection takes no further requests; this one is answered, or left unprocessed.
    case goAway(isProcessed: Bool)
    /// The HTTP/2 stream ends before any answer.
    case resetStream(StreamResetCode)
    /// The body is compressed, or claims to be.
    case gzip(GzipForm)
    /// The answer is falsified.
    case distorted(Distortion)
    /// The answer's lists and members are changed behind the store.
    case rewritten(AnswerRewrite)
    /// The state of so long ago, though signed now.
    case asOf(milliseconds: Int64)
    /// Pages of this many entries.
    case pageSize(Int)
    /// Notification history lists late, or not at all.
    case listing(ListingFault)
    /// The connection itself, before any request.
    case connection(ConnectionFault)
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

    /// The header's value for a moment, or `nil` for none.
    func value(unixMilliseconds now: Int64, until moment: Int64) -> String? {
        switch self {
        case .unixMilliseconds: return String(moment)
        case .unixSeconds: return String((moment + 999) / 1000)
        case .delaySeconds: return String((max(0, moment - now) + 999) / 1000)
        case .httpDate: return HTTPDate.text(unixSeconds: (moment + 999) / 1000)
        case .missing: return nil
        case .garbage: return "soon, perhaps"
        case .past: return String(now - 60_000)
        case .yearAhead: return String(now + 365 * 86_400_000)
        }
    }
}

/// Why a stream of HTTP/2 is reset (RFC 9113, section 7).
enum StreamResetCode: String, Sendable, CaseIterable {
    case refusedStream = "refused_stream"
    case internalError = "internal_error"
    case cancel
    case enhanceYourCalm = "enhance_your_calm"

    var number: Int {
        switch self {
        case .refusedStream: 0x7
        case .internalError: 0x2
        case .cancel: 0x8
        case .enhanceYourCalm: 0xB
        }
    }
}
