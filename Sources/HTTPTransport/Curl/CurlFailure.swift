import CLibcurl

/// Translates a failure of libcurl to an `HTTPTransportError`.
struct CurlFailure {
    let code: CURLcode
    /// libcurl's own text; it names hosts, never headers or credentials.
    let reason: String
    let target: CurlTarget
    let isConnected: Bool
    /// The proxy's answer to CONNECT; 0 without one.
    let proxyStatus: Int
    let settings: CurlTransport.Settings

    static func name(of code: CURLcode) -> String {
        guard let text = unsafe curl_easy_strerror(code) else { return "code \(code.rawValue)" }
        return unsafe String(cString: text)
    }

    private var detail: String { reason.isEmpty ? Self.name(of: code) : reason }

    private var route: String {
        settings.proxy.map { "\(target) through the proxy \($0)" } ?? "\(target)"
    }

    var error: HTTPTransportError {
        if proxyStatus != 0, !(200..<300).contains(proxyStatus) {
            return .connectionFailed(
                "the proxy refuses a connection to \(target) with status \(proxyStatus)")
        }
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST:
            return .connectionFailed("the name of \(target) could not be resolved")
        case CURLE_COULDNT_RESOLVE_PROXY:
            return .connectionFailed("the name of the proxy could not be resolved")
        case CURLE_COULDNT_CONNECT, CURLE_PROXY:
            return .connectionFailed("no connection to \(route): \(detail)")
        case CURLE_SSL_CONNECT_ERROR:
            return .connectionFailed("the TLS handshake with \(route) failed: \(detail)")
        case CURLE_OPERATION_TIMEDOUT:
            return timedOut
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return .untrustedServer(
                "the certificate of \(route) \(HTTPTransportError.untrusted): \(detail)")
        case CURLE_SSL_CACERT_BADFILE:
            return .invalidRequest(
                "the CA file \(settings.caFile ?? "of the system") cannot be read")
        case CURLE_FILESIZE_EXCEEDED:
            return .bodyTooLarge(limitBytes: settings.bodyLimitBytes)
        case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR,
            CURLE_HTTP2, CURLE_HTTP2_STREAM:
            // Also the result of requests whose connection the server closes (GOAWAY, curl #11859).
            return .connectionLost("the connection to \(route) was lost: \(detail)")
        case CURLE_WRITE_ERROR, CURLE_BAD_CONTENT_ENCODING, CURLE_WEIRD_SERVER_REPLY,
            CURLE_UNSUPPORTED_PROTOCOL, CURLE_HTTP_RETURNED_ERROR:
            return .malformedResponse("\(target) did not answer in readable HTTP: \(detail)")
        case CURLE_ABORTED_BY_CALLBACK:
            return .cancelled
        default:
            return .connectionFailed("the request to \(route) failed: \(detail)")
        }
    }

    private var timedOut: HTTPTransportError {
        isConnected
            ? .timedOut(
                "\(target) did not complete its answer within \(settings.totalTimeoutMilliseconds) ms"
            )
            : .timedOut(
                "no connection to \(route) within \(settings.connectTimeoutMilliseconds) ms")
    }
}
