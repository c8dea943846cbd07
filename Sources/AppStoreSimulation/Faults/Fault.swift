import Subscriptions

/// A fault of one answer or of a connection.
enum Fault: Sendable {
    /// Apple's error body with this code.
    case failure(code: Int, message: String)
    /// An arbitrary answer.
    case status(Int, contentType: String?, body: String, headers: [(name: String, value: String)])
    /// 429 with a `Retry-After` in some form.
    case rateLimited(RetryAfterForm, waitSeconds: Int64)
    /// 429 until a fixed moment, which every answer states; then the fault ends.
    case quotaUsedUp(RetryAfterForm, waitSeconds: Int64)
    case unauthorized
    /// A page token or revision in the request is no longer accepted.
    case expiredToken
    /// The answer is late.
    case delay
    /// The connection ends after part of the body.
    case reset(afterBytes: Int)
    /// The connection is closed, with all requests in flight on it.
    case dropConnection
    /// The body is sent byte by byte.
    case drip(intervalMilliseconds: Int64)
    /// The body is shortened, with a correct `Content-Length`.
    case cut(afterBytes: Int)
    /// The body never ends.
    case endless
    /// The body is shorter than its `Content-Length`, or longer if negative.
    case wrongLength(missingBytes: Int)
    /// GOAWAY: the connection accepts no further requests; this one is answered or left unprocessed.
    case goAway(isProcessed: Bool)
    /// The HTTP/2 stream is reset before any answer.
    case resetStream(StreamResetCode)
    /// The body is compressed, or only has the header that says so.
    case gzip(GzipForm)
    /// The content of the answer is false, or its signature invalid.
    case distorted(Distortion)
    /// Members of the finished answer are changed.
    case rewritten(AnswerRewrite)
    /// The answer shows an earlier state, signed with the present date.
    case asOf(milliseconds: Int64)
    /// Pages of this many entries.
    case pageSize(Int)
    /// Notification history lists notifications late or never.
    case listing(ListingFault)
    /// The connection fails before any request.
    case connection(ConnectionFault)
}

/// The error code of a reset HTTP/2 stream (RFC 9113, section 7).
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

/// A fault of a connection, before any request is read from it.
///
/// The raw values are the names in fault plans.
enum ConnectionFault: String, Sendable, CaseIterable {
    /// Nothing listens on the port; open connections are closed.
    case refused = "connection_refused"
    /// The connection is accepted and never answered.
    case stalled = "connection_stalled"
    /// The connection is reset as soon as it is established.
    case reset = "connection_reset"
    case tlsWrongHost = "tls_wrong_host"
    case tlsExpired = "tls_expired"
    case tlsNotYetValid = "tls_not_yet_valid"
    case tlsForeignAuthority = "tls_foreign_ca"
    case tlsSelfSigned = "tls_self_signed"
    /// TLS 1.1 at most; Apple requires 1.2.
    case tlsOldVersion = "tls_old_version"
    /// HTTP/2 is not offered.
    case http1Only = "http1_only"
}

/// How notification history omits notifications that were sent.
struct ListingFault: Sendable {
    /// How long after its date a notification is listed.
    var lateMilliseconds: Int64 = 0
    /// The share of notifications that are never listed; always the same ones.
    var lostPortion = 0.0

    /// Whether a notification is missing from the list at `now`.
    func hides(uuid: String, date: Timestamp, now: Timestamp) -> Bool {
        if now.milliseconds(since: date) < lateMilliseconds { return true }
        return lostPortion > 0 && FaultRule.point(of: uuid) < lostPortion
    }
}
