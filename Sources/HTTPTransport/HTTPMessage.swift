/// A request as a value.
///
/// Credentials are in `headers` and are never printed.
package struct HTTPRequest: Sendable {
    package var method: String
    /// Absolute `https` (or, where the transport's reach allows it, `http`) URL.
    package var url: String
    /// Name and value pairs, sent in this order.
    ///
    /// `Accept-Encoding` requests a compressed body. The transport decompresses it, so
    /// `HTTPResponse.body` is not compressed unless `keepsEncoding` is set.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]?
    /// The limit of the whole exchange, where it is shorter than the transport's own.
    package var timeLimit: Duration?
    /// Whether the body stays as it was sent, whatever its `Content-Encoding`: Apple sends files of
    /// gzip with one that no program knows (`agzip`).
    package var keepsEncoding = false

    package init(
        method: String, url: String, headers: [(name: String, value: String)] = [],
        body: [UInt8]? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// A complete response as a value; an incomplete body is an error instead.
package struct HTTPResponse: Sendable {
    package var status: Int
    /// In the order received, names in lowercase.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// `HTTP/1.1`, `HTTP/2`.
    package var version: String

    package init(
        status: Int, headers: [(name: String, value: String)], body: [UInt8], version: String
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.version = version
    }

    /// The first header of this lowercase name.
    package func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}

/// Sends HTTP requests.
package protocol HTTPTransport: Sendable {
    /// Sends once; no retry, no redirect. Cancelling the task abandons the transfer.
    func send(_ request: HTTPRequest) async throws(HTTPTransportError) -> HTTPResponse
}

/// The reason why there is no complete response; each case describes itself in a sentence.
package enum HTTPTransportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Name resolution, connection or TLS handshake failed; nothing was sent.
    case connectionFailed(String)
    /// Connection, or the whole exchange, took longer than its limit.
    case timedOut(String)
    /// The connection ended in the middle of the exchange.
    case connectionLost(String)
    /// The certificate of the server, or of the proxy, is not trusted.
    case untrustedServer(String)
    /// The body is larger than the limit.
    case bodyTooLarge(limitBytes: Int)
    /// The response is not readable HTTP: garbage, too long headers, broken compression.
    case malformedResponse(String)
    /// The task was cancelled, or the transport is shut down.
    case cancelled
    /// The request itself cannot be sent (a bad URL, a CA file that cannot be read).
    case invalidRequest(String)

    /// By what the words of an untrusted certificate are known once they are a text among others.
    package static let untrusted = "is not trusted"

    package var description: String {
        switch self {
        case .connectionFailed(let text), .timedOut(let text), .connectionLost(let text),
            .untrustedServer(let text), .malformedResponse(let text), .invalidRequest(let text):
            text
        case .bodyTooLarge(let limit): "the body is larger than \(limit) bytes"
        case .cancelled: "the request was cancelled"
        }
    }
}
